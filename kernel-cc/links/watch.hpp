// What a program that runs beside a trial waits for: files, standard input, and a time of the monotonic clock.
#pragma once

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "../transfer/base.hpp"

namespace links {

class Watch {
public:
    Watch() : poll_(epoll_create1(EPOLL_CLOEXEC)), timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
        prctl(PR_SET_TIMERSLACK, 1);  // ns; 50,000 else, for timers to share
        add(timer_);
        add(STDIN_FILENO);
    }
    void add(int file, std::uint32_t what = EPOLLIN) const {
        epoll_event event{};
        event.events = what;
        event.data.fd = file;
        if (epoll_ctl(poll_, EPOLL_CTL_ADD, file, &event) != 0) transfer::fail_errno("epoll");
    }
    // Until a time (kNever: none); the files that are ready.
    const std::vector<int>& wait(transfer::Time until) {
        arm(until);
        ready_.clear();
        std::array<epoll_event, 64> events;
        const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
        if (count < 0 && errno != EINTR) transfer::fail_errno("epoll");
        for (int i = 0; i < count; ++i) {
            const int file = events[static_cast<std::size_t>(i)].data.fd;
            if (file == timer_)
                take_tick();
            else
                ready_.push_back(file);
        }
        return ready_;
    }

private:
    void arm(transfer::Time until) {
        if (until == armed_) return;
        armed_ = until;
        itimerspec at{};
        if (until != transfer::kNever) at.it_value = transfer::timespec_of(std::max<transfer::Time>(until, 1));
        if (timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0) transfer::fail_errno("timerfd_settime");
    }
    void take_tick() {
        std::uint64_t ticks = 0;
        if (read(timer_, &ticks, sizeof ticks) < 0 && errno != EAGAIN) transfer::fail_errno("timer");
        armed_ = transfer::kNever;
    }

    int poll_, timer_;
    transfer::Time armed_ = transfer::kNever;
    std::vector<int> ready_;
};

}  // namespace links
