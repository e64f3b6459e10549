// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: subflows that share a window.
 *
 *	bound	what is in flight on all members stays below W + beside; W is the mean of the
 *		windows of those that an agent steers, or of all while it steers none
 *	pace	the members together send a member's own pace, repairs included
 *
 * TCP sends nothing new without asking a hook, min_tso_segs(), right before, under the socket's
 * lock. There a member gets a grant of the room that is left, as a window of what it has under way
 * and the grant. Grants count as under way until they are settled: when the member asks again or
 * hears an ACK, or when somebody waits for the room. So the sum never passes the bound, whoever
 * sends at the same time. TCP alone sends past it: a timeout's first repeat, a tail loss probe, and
 * the probe of a member that waited for a timeout with nothing under way: a segment each.
 *
 * Who finds too little room, or comes before the pace, waits, and gets it in the order of waiting.
 * A member that has nothing under way hears no ACK, so work of the group's own wakes who waits when
 * there is room. A member that does not use its turn is not waiting: what stops it (its pace, the
 * receiver's window, a device's queue) wakes it. An idle member holds no room.
 *
 * Order of locks: a socket's, the namespace's groups', the group's. No two sockets' at once: the
 * work takes one after the other, and leaves a socket that somebody holds to its holder.
 * A group lives as long as its members, or its work.
 */
#include <linux/module.h>

#include "dstcc.h"

struct dstcc_group {
	struct kref ref;	/* of the members together, and of work that is under way */
	u32 id;
	spinlock_t lock;	/* all below, and the members' fields but sk */
	struct list_head members, waiting, granted;
	u64 counted;		/* segments under way and granted */
	u64 windows, steered_windows;
	u32 size, steered, beside;
	u64 next_ns;		/* the pace lets nothing go before */
	const struct sock *served;	/* whose turn it is */
	struct work_struct wake;
};

struct dstcc_member {
	struct dstcc_group *group;
	struct sock *sk;
	struct list_head all, waiting, granted;
	u32 counted, window;
	u64 bytes_sent, asked_ns;	/* charged, and when the grant was made */
	bool steered;
};

static struct workqueue_struct *dstcc_group_queue;

static void dstcc_group_free(struct kref *ref)
{
	kfree(container_of(ref, struct dstcc_group, ref));
}

static u32 dstcc_group_window(const struct dstcc_group *group)
{
	const u64 windows = group->steered ? group->steered_windows : group->windows;
	const u32 count = group->steered ?: group->size;

	return count ? div_u64(windows, count) : 0;
}

static u64 dstcc_group_room(const struct dstcc_group *group)
{
	const u64 bound = (u64)dstcc_group_window(group) + group->beside;

	return bound > group->counted ? bound - group->counted : 0;
}

static void dstcc_group_kick(struct dstcc_group *group)
{
	kref_get(&group->ref);
	if (!queue_work(dstcc_group_queue, &group->wake))
		kref_put(&group->ref, dstcc_group_free);
}

/* What a member sent since the last time that it was looked at goes on the pace's account, once. */
static void dstcc_charge(struct dstcc_group *group, struct dstcc_member *member)
{
	const u64 sent = READ_ONCE(tcp_sk(member->sk)->bytes_sent);
	const u64 bytes = min_t(u64, sent - member->bytes_sent, U32_MAX);
	const unsigned long rate = READ_ONCE(member->sk->sk_pacing_rate);

	member->bytes_sent = sent;
	if (bytes && rate && rate != ~0UL)
		group->next_ns = max(group->next_ns, member->asked_ns) +
				 div64_u64(bytes * NSEC_PER_SEC, rate);
}

/* What the member has under way and its window, as they are. Its socket's lock is held. */
static void dstcc_settle(struct dstcc_member *member)
{
	const struct tcp_sock *tp = tcp_sk(member->sk);
	const struct dstcc *dstcc = inet_csk_ca(member->sk);
	const u32 in_flight = tcp_packets_in_flight(tp);
	struct dstcc_group *group = member->group;

	group->counted = group->counted - member->counted + in_flight;
	member->counted = in_flight;
	group->windows = group->windows - member->window + dstcc->own;
	if (member->steered) {
		group->steered--;
		group->steered_windows -= member->window;
	}
	if (dstcc->steered) {
		group->steered++;
		group->steered_windows += dstcc->own;
	}
	member->window = dstcc->own;
	member->steered = dstcc->steered;
	dstcc_charge(group, member);
	list_del_init(&member->granted);
}

/* Segments that the member has to send, at most. */
static u32 dstcc_wanted(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const u32 least = max_t(s32, tp->mss_cache - MAX_TCP_OPTION_SPACE, 1);
	const u32 lost = tp->lost_out > tp->retrans_out ? tp->lost_out - tp->retrans_out : 0;

	if (!tcp_send_head(sk))
		return lost;
	return lost + skb_queue_len(&sk->sk_write_queue) + (tp->write_seq - tp->snd_nxt) / least;
}

/* Whether the pace of all keeps the member back, or one of its own; TCP's timer comes then. */
static bool dstcc_paced(struct sock *sk, struct dstcc_group *group, bool *of_all)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dstcc_member *other;

	list_for_each_entry(other, &group->granted, granted)
		dstcc_charge(group, other);
	tp->tcp_wstamp_ns = max(tp->tcp_wstamp_ns, group->next_ns);
	if (READ_ONCE(sk->sk_pacing_status) != SK_PACING_NEEDED)
		return false;
	*of_all = group->next_ns > tp->tcp_clock_cache;
	return tp->tcp_wstamp_ns > tp->tcp_clock_cache;
}

/* Whether the member may have room now, before those that wait. */
static bool dstcc_may_take(const struct dstcc_member *member)
{
	const struct dstcc_group *group = member->group;

	return group->served == member->sk || list_empty(&group->waiting) ||
	       list_first_entry(&group->waiting, struct dstcc_member, waiting) == member;
}

/*
 * TCP is about to send: the window is what is under way and a grant. Its own window bounds a
 * member, too. A window that only the pace keeps back stays, so that TCP starts the timer; whose
 * turn the pace of all puts off waits as the first.
 */
void dstcc_group_ask(struct sock *sk)
{
	const u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));
	struct dstcc *dstcc = inet_csk_ca(sk);
	struct dstcc_member *member = dstcc->member;
	struct dstcc_group *group = member->group;
	bool paced = false, of_all = false;
	u32 wanted, grant = 0;

	dstcc->own = dstcc_own_window(sk);
	spin_lock_bh(&group->lock);
	dstcc_settle(member);
	wanted = dstcc->own > in_flight ? min(dstcc_wanted(sk), dstcc->own - in_flight) : 0;
	if (wanted)
		paced = dstcc_paced(sk, group, &of_all);
	if (!wanted || paced) {
		if (!of_all)
			list_del_init(&member->waiting);
		else if (list_empty(&member->waiting) && group->served == sk)
			list_add(&member->waiting, &group->waiting);
		else if (list_empty(&member->waiting))
			list_add_tail(&member->waiting, &group->waiting);
		dstcc->lent = dstcc->own;
	} else {
		if (dstcc_may_take(member))
			grant = min_t(u64, dstcc_group_room(group), wanted);
		if (grant) {
			group->counted += grant;
			member->counted += grant;
			member->asked_ns = tcp_sk(sk)->tcp_clock_cache;
			list_add_tail(&member->granted, &group->granted);
			list_del_init(&member->waiting);
		}
		if (grant < wanted && list_empty(&member->waiting))
			list_add_tail(&member->waiting, &group->waiting);
		dstcc->lent = in_flight + grant;
	}
	/* Room for others, or room that may come back. */
	if (group->served != sk && !paced && !list_empty(&group->waiting) &&
	    (dstcc_group_room(group) || !list_empty(&group->granted)))
		dstcc_group_kick(group);
	spin_unlock_bh(&group->lock);
	/* Without tcp_snd_cwnd_set(), which allows no 0; a window of 1 would let a segment out. */
	WRITE_ONCE(tcp_sk(sk)->snd_cwnd, dstcc->lent);
}

/* An ACK was heard, or the window has changed: others may have the room. */
void dstcc_group_tell(struct sock *sk)
{
	struct dstcc *dstcc = inet_csk_ca(sk);
	struct dstcc_group *group = dstcc->member->group;

	dstcc->own = dstcc_own_window(sk);
	spin_lock_bh(&group->lock);
	dstcc_settle(dstcc->member);
	if (!list_empty(&group->waiting) && dstcc_group_room(group))
		dstcc_group_kick(group);
	spin_unlock_bh(&group->lock);
}

/* The member of a locked socket that may have left in the meantime: NULL then. */
static struct dstcc_member *dstcc_member_of(struct sock *sk, const struct dstcc_group *group)
{
	const struct dstcc *dstcc = inet_csk_ca(sk);

	if (inet_csk(sk)->icsk_ca_ops != &dstcc_ops || !dstcc->member)
		return NULL;
	return dstcc->member->group == group ? dstcc->member : NULL;
}

/*
 * The turn of a socket is over, or its grant is needed by others. One that somebody holds settles
 * when its holder lets go of it, which has it ask.
 */
static void dstcc_settle_other(struct sock *sk, struct dstcc_group *group)
{
	struct dstcc_member *member;

	spin_lock_bh(&sk->sk_lock.slock);
	if (sock_owned_by_user(sk)) {
		dstcc_push(sk);
	} else {
		member = dstcc_member_of(sk, group);
		if (member) {
			spin_lock(&group->lock);
			if (member->counted > tcp_packets_in_flight(tcp_sk(sk)))
				list_del_init(&member->waiting);
			dstcc_settle(member);
			spin_unlock(&group->lock);
		}
	}
	spin_unlock_bh(&sk->sk_lock.slock);
}

static void dstcc_take_turn(struct dstcc_group *group, const struct sock *sk)
{
	spin_lock_bh(&group->lock);
	group->served = sk;
	spin_unlock_bh(&group->lock);
}

/*
 * The room is a socket's: its release has TCP send, after the window is its own for a moment, or
 * TCP would not even try to repeat something. Returns whether more is under way: what a device
 * drops at once is not.
 */
static bool dstcc_serve(struct sock *sk, struct dstcc_group *group)
{
	u32 before;

	if (!dstcc_trylock(sk, true))
		return false;
	before = tcp_packets_in_flight(tcp_sk(sk));
	if (dstcc_member_of(sk, group)) {
		dstcc_restore(sk);
		dstcc_take_turn(group, sk);
		dstcc_push(sk);
	}
	release_sock(sk);
	dstcc_take_turn(group, NULL);
	dstcc_settle_other(sk, group);
	return dstcc_in_flight(tcp_sk(sk)) > before;
}

/* The socket of the first entry of a list, with a reference; it goes to the list's end or out. */
static struct sock *dstcc_first_granted(struct dstcc_group *group)
{
	struct dstcc_member *member;
	struct sock *sk = NULL;

	spin_lock_bh(&group->lock);
	member = list_first_entry_or_null(&group->granted, struct dstcc_member, granted);
	if (member) {
		list_move_tail(&member->granted, &group->granted);
		sk = member->sk;
		sock_hold(sk);
	}
	spin_unlock_bh(&group->lock);
	return sk;
}

static struct sock *dstcc_first_waiting(struct dstcc_group *group)
{
	struct dstcc_member *member;
	struct sock *sk = NULL;

	spin_lock_bh(&group->lock);
	member = list_first_entry_or_null(&group->waiting, struct dstcc_member, waiting);
	if (member && dstcc_group_room(group)) {
		list_del_init(&member->waiting);
		sk = member->sk;
		sock_hold(sk);
	}
	spin_unlock_bh(&group->lock);
	return sk;
}

static bool dstcc_is_first(struct dstcc_group *group, const struct sock *sk)
{
	const struct dstcc_member *member;
	bool first;

	spin_lock_bh(&group->lock);
	member = list_first_entry_or_null(&group->waiting, struct dstcc_member, waiting);
	first = member && member->sk == sk;
	spin_unlock_bh(&group->lock);
	return first;
}

static u32 dstcc_group_count(struct dstcc_group *group, const struct list_head *list)
{
	const struct list_head *entry;
	u32 count = 0;

	spin_lock_bh(&group->lock);
	list_for_each(entry, list)
		count++;
	spin_unlock_bh(&group->lock);
	return count;
}

/*
 * Grants that were not used come back, and each that waits has one turn. As long as that sends
 * something it may have made room; else only an ACK, a window or a member's own timer does.
 */
static void dstcc_group_wake(struct work_struct *work)
{
	struct dstcc_group *group = container_of(work, struct dstcc_group, wake);
	u32 granted = dstcc_group_count(group, &group->granted);
	u32 waiting = dstcc_group_count(group, &group->waiting);
	bool sent = false;
	struct sock *sk;

	for (; granted && (sk = dstcc_first_granted(group)); granted--) {
		dstcc_settle_other(sk, group);
		sock_put(sk);
	}
	for (; waiting && (sk = dstcc_first_waiting(group)); waiting--) {
		sent |= dstcc_serve(sk, group);
		if (dstcc_is_first(group, sk)) /* the pace puts off all */
			waiting = 1;
		sock_put(sk);
		cond_resched();
	}
	spin_lock_bh(&group->lock);
	if (sent && !list_empty(&group->waiting) && dstcc_group_room(group))
		dstcc_group_kick(group);
	spin_unlock_bh(&group->lock);
	kref_put(&group->ref, dstcc_group_free);
}

static struct dstcc_group *dstcc_group_make(u32 id)
{
	struct dstcc_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);

	if (!group)
		return NULL;
	kref_init(&group->ref);
	group->id = id;
	spin_lock_init(&group->lock);
	INIT_LIST_HEAD(&group->members);
	INIT_LIST_HEAD(&group->waiting);
	INIT_LIST_HEAD(&group->granted);
	INIT_WORK(&group->wake, dstcc_group_wake);
	return group;
}

/* The namespace's group of that number, or `made` in its place. NULL: no memory for it. */
static struct dstcc_group *dstcc_group_enter(struct dstcc_net *own, struct dstcc_group *made)
{
	struct dstcc_group *group = xa_load(&own->groups, made->id);
	void *old;

	if (group)
		return group;
	old = __xa_store(&own->groups, made->id, made, GFP_ATOMIC | __GFP_NOWARN);
	return xa_is_err(old) ? NULL : made;
}

/* A locked socket of ours joins a group, and leaves the one that it was in. */
int dstcc_group_join(struct dstcc_net *own, struct sock *sk, u32 id)
{
	struct dstcc_group *made, *group;
	struct dstcc *dstcc = inet_csk_ca(sk);
	struct dstcc_member *member;

	sock_owned_by_me(sk);
	if (dstcc->group == id)
		return 0;
	dstcc_group_leave(sk);
	if (!id)
		return 0;
	made = dstcc_group_make(id);
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!made || !member) {
		kfree(made);
		kfree(member);
		return -ENOMEM;
	}
	member->sk = sk;
	member->bytes_sent = tcp_sk(sk)->bytes_sent;
	INIT_LIST_HEAD(&member->waiting);
	INIT_LIST_HEAD(&member->granted);
	xa_lock_bh(&own->groups);
	group = dstcc_group_enter(own, made);
	if (group) {
		spin_lock(&group->lock);
		member->group = group;
		list_add_tail(&member->all, &group->members);
		group->size++;
		dstcc->own = tcp_snd_cwnd(tcp_sk(sk));
		dstcc->lent = dstcc->own;
		WRITE_ONCE(dstcc->group, id);
		dstcc->member = member;
		dstcc_settle(member);
		spin_unlock(&group->lock);
	}
	xa_unlock_bh(&own->groups);
	if (group != made)
		kfree(made);
	if (!group)
		kfree(member);
	return group ? 0 : -ENOMEM;
}

/* Under the socket's lock, or as it goes. The window is its own again. */
void dstcc_group_leave(struct sock *sk)
{
	struct dstcc_net *own = dstcc_net(sock_net(sk));
	struct dstcc *dstcc = inet_csk_ca(sk);
	struct dstcc_member *member = dstcc->member;
	struct dstcc_group *group;
	bool last;

	if (!member)
		return;
	dstcc_restore(sk);
	group = member->group;
	xa_lock_bh(&own->groups);
	spin_lock(&group->lock);
	dstcc_settle(member);
	list_del(&member->all);
	list_del(&member->waiting);
	group->counted -= member->counted;
	group->windows -= member->window;
	if (member->steered) {
		group->steered--;
		group->steered_windows -= member->window;
	}
	last = !--group->size;
	if (last)
		__xa_erase(&own->groups, group->id);
	else if (!list_empty(&group->waiting))
		dstcc_group_kick(group);
	spin_unlock(&group->lock);
	xa_unlock_bh(&own->groups);
	dstcc->member = NULL;
	WRITE_ONCE(dstcc->group, 0);
	kfree(member);
	if (last)
		kref_put(&group->ref, dstcc_group_free);
}

int dstcc_group_set_beside(struct dstcc_net *own, u32 id, u32 beside)
{
	struct dstcc_group *group;

	xa_lock_bh(&own->groups);
	group = xa_load(&own->groups, id);
	if (group) {
		spin_lock(&group->lock);
		group->beside = beside;
		if (!list_empty(&group->waiting))
			dstcc_group_kick(group);
		spin_unlock(&group->lock);
	}
	xa_unlock_bh(&own->groups);
	return group ? 0 : -ENOENT;
}

/* What the members have under way now: grants are no part of it. */
int dstcc_group_look(struct dstcc_net *own, u32 id, struct dstcc_group_state *state)
{
	const struct dstcc_member *member;
	struct dstcc_group *group;
	struct list_head *entry;

	memset(state, 0, sizeof(*state));
	xa_lock_bh(&own->groups);
	group = xa_load(&own->groups, id);
	if (group) {
		spin_lock(&group->lock);
		list_for_each_entry(member, &group->members, all) {
			const struct tcp_sock *tp = tcp_sk(member->sk);

			state->in_flight += dstcc_in_flight(tp);
			state->unsent_bytes += READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
		}
		list_for_each(entry, &group->waiting)
			state->waiting++;
		state->window = dstcc_group_window(group);
		state->members = group->size;
		state->beside = group->beside;
		spin_unlock(&group->lock);
	}
	xa_unlock_bh(&own->groups);
	return group ? 0 : -ENOENT;
}

int __init dstcc_group_init(void)
{
	dstcc_group_queue = alloc_workqueue("dstcc_group", WQ_UNBOUND, 0);
	return dstcc_group_queue ? 0 : -ENOMEM;
}

/* Once no socket is ours: work that is queued ends first. */
void dstcc_group_exit(void)
{
	destroy_workqueue(dstcc_group_queue);
}
