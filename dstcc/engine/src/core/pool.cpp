#include "core/pool.hpp"

namespace dstcc {

Pool::Pool(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });  // the caller is one of them
}

Pool::~Pool() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Pool::run(std::size_t count, const std::function<void(std::size_t)>& work) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        work_ = &work;
        count_ = count;
        next_ = 0;
        busy_ = threads_.size();
        error_ = nullptr;
        ++call_;
    }
    wake_.notify_all();
    share();
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    if (error_) std::rethrow_exception(error_);
}

void Pool::serve() {
    std::uint64_t seen = 0;
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return stop_ || call_ != seen; });
            if (stop_) return;
            seen = call_;
        }
        share();
        const std::lock_guard<std::mutex> lock(mutex_);
        if (--busy_ == 0) done_.notify_one();
    }
}

void Pool::share() {
    for (;;) {
        std::size_t mine = 0;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (next_ >= count_) return;
            mine = next_++;
        }
        try {
            (*work_)(mine);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
    }
}

}  // namespace dstcc
