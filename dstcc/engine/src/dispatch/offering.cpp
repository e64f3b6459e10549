// Who sends: subflows with room are offered what waits, as the strategy would have it; repairs and reinjections go first.
#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace dstcc {

Dispatcher::Dispatcher(const TransportConfig& transport, const ObjectsConfig& objects,
                       std::unique_ptr<Scheduler> scheduler, LayerHeaders& headers, Timers timers, Timers paces,
                       Remaining& remaining)
    : Senders(transport, 0, timers, paces),
      objects_(objects),
      headers_(headers),
      remaining_(remaining),
      scheduler_(std::move(scheduler)),
      wants_feedback_(scheduler_->wants_feedback()),
      may_wait_(scheduler_->may_wait()),
      deadline_order_(scheduler_->order() == Order::kDeadline),
      bounded_(transport.receive_buffer_bytes != 0),
      window_(transport.receive_buffer_bytes),
      writes_what_fits_(transport.drop_late &&
                        (transport.lanes ? transport.lanes_per_link == 1 : !transport.layer_links.empty())),
      layers_(objects.size()),
      pending_(layer_first()) {
    for (const Time deadline : objects_.deadline_ns)
        deadlines_ = deadlines_ || (transport_.drop_late && deadline != kNever);
}

void Dispatcher::connect() {
    paths_.resize(subflows_.size());
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        paths_[i].subflow = &subflows_[i].sender;
        paths_[i].transmitter = &subflows_[i].out;
        paths_[i].link_index = static_cast<int>(subflows_[i].link);
        for (std::size_t k = 0; k < paths_.size(); ++k)
            if (k == i || (transport_.apart && subflows_[k].link == subflows_[i].link)) insert(paths_[i].peers, k);
    }
    refresh_delays();
}

// Of a level whose deadlines fall somewhere: none.
void Dispatcher::note_least() {
    std::vector<Time> due;  // the last one, by level
    for (std::uint32_t object = 0; object < objects_.size(); ++object) {
        const auto level = layer_first() ? static_cast<std::size_t>(objects_.layer[object]) : 0;
        if (due.size() <= level) {
            due.resize(level + 1, 0);
            least_bytes_.resize(level + 1, kNever);
        }
        const std::int64_t bytes = objects_.deadline_ns[object] < due[level] ? 0 : objects_.payload_bytes[object];
        least_bytes_[level] = std::min(least_bytes_[level], bytes);
        due[level] = objects_.deadline_ns[object];
    }
}

void Dispatcher::refresh_delays() {
    least_one_way_ns_ = kNever;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        paths_[s].one_way_ns = subflows_[s].plan->light_ns(now_);
        least_one_way_ns_ = std::min(least_one_way_ns_, paths_[s].one_way_ns);
    }
}

void Dispatcher::offer_reinjections() {
    for (SubflowSet origins = reinjecting_; origins != 0; origins &= origins - 1) {
        const auto origin = static_cast<std::size_t>(lowest(origins));
        auto& waiting = subflows_[origin].reinjections;
        while (!waiting.empty()) {
            const Reinjection entry = waiting.front();
            const SubflowSet others = ready_ & ~paths_[origin].peers & ~stale_;
            const bool arrived = subflows_[origin].sender.acknowledged(entry.number);
            if (!arrived && others == 0) break;
            waiting.pop_front();
            if (!arrived) send_copy(static_cast<std::size_t>(quickest(others)), entry.object, entry.order, entry.bytes);
        }
        if (waiting.empty()) erase(reinjecting_, origin);
    }
}

}  // namespace dstcc
