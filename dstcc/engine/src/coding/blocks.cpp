#include "coding/blocks.hpp"

namespace dstcc {

BlockMap::BlockMap(const ObjectsConfig& objects, const CodingConfig& coding) : block_(objects.size()) {
    for (const std::uint8_t layer : objects.layer) layers_ = std::max<std::size_t>(layers_, layer + std::size_t{1});
    words_.assign(layers_, 1);
    for (std::size_t layer = 0; layer < layers_ && !coding.words.empty(); ++layer)
        words_[layer] = coding.words[std::min(layer, coding.words.size() - 1)];
    for (const std::uint32_t words : words_) {
        words_before_.push_back(static_cast<std::uint32_t>(words_a_period_));
        words_a_period_ += words;
        interleaved_ = interleaved_ || words > 1;
    }
    const std::size_t periods = objects.size() == 0 ? 0 : std::size_t{coding.period.back()} + 1;
    first_.assign(periods * layers_ + 1, 0);
    for (std::size_t object = 0; object < objects.size(); ++object) {
        block_[object] = static_cast<std::uint32_t>(coding.period[object] * layers_ + objects.layer[object]);
        ++first_[block_[object] + 1];
    }
    for (std::size_t block = 1; block < first_.size(); ++block) first_[block] += first_[block - 1];
    members_.resize(objects.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t object = 0; object < objects.size(); ++object)
        members_[next[block_[object]]++] = static_cast<std::uint32_t>(object);
}

}  // namespace dstcc
