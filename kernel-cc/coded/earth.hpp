// Earth's end: datagrams are read, their symbols kept (store.hpp), and told to the receiving end (coding/receiving_end.hpp), which
// answers with ACKs. Nothing is used that the reader refuses.
#pragma once

#include "coding/receiving_end.hpp"
#include "ends.hpp"
#include "packet.hpp"
#include "store.hpp"

namespace coded {

class Earth : public dstcc::AckPort {
public:
    Earth(const Plan& plan, const dstcc::BlockMap& map, Store::Check check, dstcc::Timers delayed_acks);
    // A subflow's packets come from now on; `reports`: its sender's control uses reports.
    void add(bool reports, const dstcc::PlannedWay& up);

    void send(Time now, std::size_t subflow, const dstcc::Ack& ack, std::uint32_t bytes) override;
    Time busy_ns(std::size_t subflow) const override {
        return uplinks_[uplink_[plan_.paths[subflow].link]].line().busy_ns();
    }
    void see(const links::Queues& queues) { see_others(queues, plan_, true, uplinks_); }
    const std::vector<Datagram>& receive(std::size_t link) { return sockets_[link].receive(); }
    void handle(Time now, std::size_t link, const Datagram& datagram);
    void handle_timer(Time now, std::size_t subflow) { receiving_.handle_timer(now, subflow); }
    void forget(Time now) { store_.forget(now); }

    const dstcc::CodedReceivingEnd& receiving() const { return receiving_; }
    const Store& store() const { return store_; }
    const Refused& refused() const { return refused_; }
    unsigned lost() const { return lost_at(sockets_); }
    // Numbers that did not come before a later one did, and of those up to `sent` the ones since.
    std::vector<std::pair<std::int64_t, std::int64_t>> missing(const std::vector<std::int64_t>& sent) const;

private:
    const Plan& plan_;
    Catalogue catalogue_;
    Store store_;
    dstcc::BlockHeaders headers_;
    std::vector<dstcc::AckRanges> ranges_;
    dstcc::CodedReceivingEnd receiving_;
    OwnLines uplinks_;
    std::vector<std::size_t> uplink_;  // by link: whose it uses, as paths over nodes may end on one
    std::vector<Socket> sockets_;      // by link
    std::vector<sockaddr_in> peers_;   // by subflow
    std::vector<std::int64_t> next_;   // by subflow: the number that is due
    std::vector<std::pair<std::int64_t, std::int64_t>> missing_;
    std::vector<std::uint8_t> answer_;
    std::size_t added_ = 0;  // subflows
    Refused refused_;
};

}  // namespace coded
