#include "tcp/senders.hpp"

namespace dstcc {

// A handshake is to begin at `at`: it does when the plan says that the SYN and its answer pass.
void Senders::open(std::size_t i, SendingEndpoint& from, Time at) {
    from.syn_at = from.plan->opening(at);
    arm_timer(i, from);
}

void Senders::send_syn(std::size_t i, SendingEndpoint& from) {
    const ConstantsNs& constants = transport_.constants;
    // RFC 6298: doubling from the initial RTO; there is no giving up. A link that comes up again is tried at once, and anew.
    ++from.syns;
    const unsigned shift = std::min(from.backoffs++, 30u);
    const Time backoff =
        constants.rto_initial > (constants.rto_max >> shift) ? constants.rto_max : constants.rto_initial << shift;
    from.syn_due = now_ + backoff;
    const ContactPlan& plan = *from.plan;
    const Time again = plan.reopening(now_);
    from.syn_at = std::min(plan.opening(constants.wheel(now_, from.syn_due)), again);
    if (from.syn_at == again) from.backoffs = 0;
    from.out.send(now_, first_ + i, 0, 0, 0, 0, header_bytes_, false);
}

SubflowView Senders::view_of(const SendingEndpoint& from, Time now) const {
    const TcpState& tcp = from.sender.tcp();
    const ContactPlan::Contact contact = from.plan->contact(now);
    SubflowView view;
    view.tcp = &tcp;
    view.established = from.sender.established();
    view.sent = from.sent;
    view.lost = static_cast<std::int64_t>(tcp.lost);
    view.retransmitted = from.retransmitted;
    view.delivered_bytes = from.delivered_bytes;
    view.queue_bytes = from.out.queue_bytes(now);
    view.rtt_deviation_ns = from.sender.rtt_deviation();
    view.up = contact.up;
    view.change_ns = contact.change_ns;
    return view;
}

}  // namespace dstcc
