// Threads for trials that are stepped side by side.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dstcc {

// A fixed set of threads that share a loop's iterations.
class Pool {
public:
    explicit Pool(int threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    // work(i) for every i below `count`; returns when all are done. The first exception is thrown on.
    void run(std::size_t count, const std::function<void(std::size_t)>& work);

private:
    void serve();
    void share();

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::size_t count_ = 0, next_ = 0, busy_ = 0;
    std::uint64_t call_ = 0;
    bool stop_ = false;
    std::exception_ptr error_;
    std::vector<std::thread> threads_;
};

}  // namespace dstcc
