// A column of numbers that nobody changes: copies share it, so that a configuration of a million layers is copied at
// the price of one of none.
#pragma once

#include <memory>
#include <vector>

namespace dstcc {

template <class T>
class Column {
public:
    Column() = default;
    Column(std::vector<T> values)
        : values_(std::make_shared<const std::vector<T>>(std::move(values))),
          data_(values_->data()) {}
    std::size_t size() const { return values_ ? values_->size() : 0; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    const T& back() const { return data_[size() - 1]; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size(); }

private:
    std::shared_ptr<const std::vector<T>> values_;
    const T* data_ = nullptr;  // theirs
};

}  // namespace dstcc
