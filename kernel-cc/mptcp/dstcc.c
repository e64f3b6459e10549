// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPTCP's packet scheduler "dstcc": byte ranges of a connection go on the subflow of their layer.
 *
 *	table		layer -> local id of a subflow; set once a slot, for announcements to come
 *	announcement	layer and deadline of the bytes that are written next; what was announced
 *			before and not written is forgotten
 *	range		an announcement's bytes. It goes on the subflow that its layer had in the
 *			table then, and stays there while that subflow lives.
 *
 * Where a range has no subflow, or one that is not there, the one takes it that would have it
 * soonest by its round trip and what it has queued. Bytes that nobody announced go where
 * the default scheduler has them go. Bytes leave in the order in which they were written: what has
 * no room on its own subflow holds up what is behind it, so that a sender writes what has room.
 * A packet has bytes of one range only: what follows an end that is not sent yet begins the next.
 *
 * A subflow fails when it closes, or is stale. MPTCP then begins again with all that is not
 * acknowledged; here what a living subflow carries is passed over, the rest goes to another.
 *
 * All of it is guarded by the connection: its socket lock, or its spin lock while nobody owns it.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <net/mptcp_dstcc.h>

#include "protocol.h"

/* Weight of a round trip against the queue: half of it is the way there. */
#define DSTCC_ONE_WAY_SHIFT	(3 + 1)

struct dstcc_range {
	struct list_head list;
	u64 begin, end;		/* data sequence numbers */
	u64 carried;		/* up to here the bytes are with a subflow */
	u64 deadline_ns;
	u32 carrier;		/* its subflow_id, if any byte is carried */
	s16 local_id;		/* of the subflow that it is to go on, or MPTCP_DSTCC_ANY */
	u8 layer;
};

struct mptcp_dstcc {
	struct list_head ranges;	/* by data sequence */
	struct dstcc_range *last_found;
	u64 fresh;			/* data sequence: nobody carried it before */
	unsigned int layers, rows;
	s16 table[MPTCP_DSTCC_LAYERS];
	struct mptcp_dstcc_row counts[MPTCP_DSTCC_ROWS];
};

static struct mptcp_sched_ops mptcp_sched_dstcc;

static void dstcc_forget(struct mptcp_dstcc *dstcc, struct dstcc_range *range)
{
	if (dstcc->last_found == range)
		dstcc->last_found = NULL;
	list_del(&range->list);
	kfree(range);
}

static void dstcc_forget_acknowledged(struct mptcp_sock *msk)
{
	const u64 snd_una = READ_ONCE(msk->snd_una);
	struct mptcp_dstcc *dstcc = msk->dstcc;
	struct dstcc_range *range, *next;

	list_for_each_entry_safe(range, next, &dstcc->ranges, list) {
		if (after64(range->end, snd_una))
			break;
		dstcc_forget(dstcc, range);
	}
}

/* The range of a byte; NULL if nobody announced it. */
static struct dstcc_range *dstcc_find(struct mptcp_dstcc *dstcc, u64 dsn)
{
	struct dstcc_range *range = dstcc->last_found;

	if (!range || before64(dsn, range->begin))
		range = list_first_entry(&dstcc->ranges, struct dstcc_range, list);
	list_for_each_entry_from(range, &dstcc->ranges, list) {
		if (before64(dsn, range->begin))
			return NULL;
		if (before64(dsn, range->end)) {
			dstcc->last_found = range;
			return range;
		}
	}
	return NULL;
}

static struct mptcp_subflow_context *dstcc_carrier(struct mptcp_sock *msk,
						   const struct dstcc_range *range)
{
	struct mptcp_subflow_context *subflow;

	mptcp_for_each_subflow(msk, subflow)
		if (subflow->subflow_id == range->carrier)
			return mptcp_subflow_active(subflow) ? subflow : NULL;
	return NULL;
}

/* Microseconds until a byte that is queued now would arrive. */
static u64 dstcc_arrival_us(const struct sock *ssk)
{
	const u64 pace = READ_ONCE(ssk->sk_pacing_rate);
	const u64 queued = READ_ONCE(ssk->sk_wmem_queued);
	const u64 one_way_us = tcp_sk(ssk)->srtt_us >> DSTCC_ONE_WAY_SHIFT;

	return one_way_us + (pace ? div64_u64(queued * USEC_PER_SEC, pace) : 0);
}

/* The subflow that the next byte of a range goes on; NULL if none is there. */
static struct mptcp_subflow_context *dstcc_place(struct mptcp_sock *msk,
						 const struct dstcc_range *range, u64 dsn)
{
	struct mptcp_subflow_context *subflow, *best = NULL;
	const s16 told = range->local_id;
	u64 least_us = U64_MAX;

	if (range->carried != range->begin && !after64(dsn, range->carried)) {
		subflow = dstcc_carrier(msk, range);
		if (subflow)
			return subflow;
	}
	mptcp_for_each_subflow(msk, subflow) {
		u64 arrival_us;

		if (!mptcp_subflow_active(subflow))
			continue;
		if (told >= 0 && READ_ONCE(subflow->local_id) == told)
			return subflow;
		arrival_us = dstcc_arrival_us(mptcp_subflow_tcp_sock(subflow));
		if (arrival_us < least_us) {
			least_us = arrival_us;
			best = subflow;
		}
	}
	return best;
}

/*
 * The range of the next byte to send. What a living subflow carries already is passed over: it is
 * the next byte only because another subflow failed.
 */
static struct dstcc_range *dstcc_next(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;
	struct mptcp_data_frag *head;
	struct dstcc_range *range;

	while ((head = mptcp_send_head(sk))) {
		const u64 dsn = head->data_seq + head->already_sent;
		u64 carried;

		range = dstcc_find(msk->dstcc, dsn);
		if (!range || !before64(dsn, range->carried) || !dstcc_carrier(msk, range))
			return range;
		carried = min_t(u64, range->carried - dsn, head->data_len - head->already_sent);
		head->already_sent += carried;
		if (head->already_sent == head->data_len)
			msk->first_pending = mptcp_send_next(sk);
	}
	return NULL;
}

static int dstcc_schedule(struct sock *ssk)
{
	if (!ssk)
		return -EINVAL;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
	return 0;
}

/*
 * MPTCP's own timer ran out. Its look at idle subflows finds out which are stale. What a living
 * subflow carries that one's TCP repeats, until the other end's TCP has it: if its MPTCP threw it
 * away all the same, as it does with what is beyond its window, it goes on that subflow again. What
 * a stale one carried is sent as if it were new. The usual choice shortens the timer where a subflow
 * is silent, which else happens with new data only.
 */
static int dstcc_retransmit(struct mptcp_sock *msk)
{
	struct sock *idle = mptcp_subflow_get_retrans(msk);
	const struct dstcc_range *range = dstcc_find(msk->dstcc, READ_ONCE(msk->snd_una));
	struct mptcp_subflow_context *carrier;

	mptcp_subflow_get_send(msk);
	if (!range)
		return dstcc_schedule(idle);
	carrier = before64(READ_ONCE(msk->snd_una), range->carried) ? dstcc_carrier(msk, range) :
								      NULL;
	if (!carrier || !tcp_rtx_and_write_queues_empty(mptcp_subflow_tcp_sock(carrier)))
		return -EINVAL;
	return dstcc_schedule(mptcp_subflow_tcp_sock(carrier));
}

static int dstcc_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	struct mptcp_subflow_context *subflow;
	struct sock *sk = (struct sock *)msk;
	const struct dstcc_range *range;
	struct sock *usual, *ssk;
	u64 dsn;

	if (!msk->dstcc)
		return dstcc_schedule(data->reinject ? mptcp_subflow_get_retrans(msk) :
						       mptcp_subflow_get_send(msk));
	dstcc_forget_acknowledged(msk);
	if (data->reinject)
		return dstcc_retransmit(msk);
	/* The usual choice also sets how long MPTCP's timer runs. */
	usual = mptcp_subflow_get_send(msk);
	range = dstcc_next(msk);
	if (!mptcp_send_head(sk))
		return -EINVAL;
	if (!range)
		return dstcc_schedule(usual);
	dsn = mptcp_send_head(sk)->data_seq + mptcp_send_head(sk)->already_sent;
	subflow = dstcc_place(msk, range, dsn);
	ssk = subflow ? mptcp_subflow_tcp_sock(subflow) : NULL;
	if (!ssk || !sk_stream_memory_free(ssk))
		return -EINVAL;
	msk->snd_burst = min_t(u64, range->end - dsn, S32_MAX);
	return dstcc_schedule(ssk);
}

/* Up to which of its bytes the queue's head may be sent on a subflow now. */
u16 mptcp_dstcc_limit(struct mptcp_sock *msk, struct sock *ssk, const struct mptcp_data_frag *head)
{
	const u64 dsn = head->data_seq + head->already_sent;
	const struct dstcc_range *range;

	if (!msk->dstcc)
		return head->data_len;
	range = dstcc_find(msk->dstcc, dsn);
	if (!range) {
		list_for_each_entry(range, &msk->dstcc->ranges, list)
			if (after64(range->begin, dsn))
				return min_t(u64, head->data_len, range->begin - head->data_seq);
		return head->data_len;
	}
	if (dstcc_place(msk, range, dsn) != mptcp_subflow_ctx(ssk))
		return head->already_sent;
	if (before64(dsn, range->carried) && dstcc_carrier(msk, range))
		return head->already_sent;
	return min_t(u64, head->data_len, range->end - head->data_seq);
}

static struct mptcp_dstcc_row *dstcc_row(struct mptcp_dstcc *dstcc, u8 layer, u8 local_id)
{
	struct mptcp_dstcc_row *row;
	unsigned int i;

	for (i = 0; i < dstcc->rows; i++) {
		row = &dstcc->counts[i];
		if (row->layer == layer && row->local_id == local_id)
			return row;
	}
	if (dstcc->rows == MPTCP_DSTCC_ROWS)
		return NULL;
	row = &dstcc->counts[dstcc->rows++];
	row->layer = layer;
	row->local_id = local_id;
	return row;
}

/* Nothing is appended to the packet that was queued last. */
static void dstcc_end_packet(struct sock *ssk)
{
	struct sk_buff *skb = tcp_write_queue_tail(ssk);
	struct mptcp_ext *ext = skb ? mptcp_get_ext(skb) : NULL;

	if (ext)
		ext->frozen = 1;
}

/* Bytes from `from` on, of one range, went on a subflow. */
void mptcp_dstcc_sent(struct mptcp_sock *msk, struct sock *ssk, u64 from, u32 bytes)
{
	const struct mptcp_subflow_context *subflow = mptcp_subflow_ctx(ssk);
	struct mptcp_dstcc *dstcc = msk->dstcc;
	const s16 local_id = READ_ONCE(subflow->local_id);
	struct mptcp_dstcc_row *row;
	struct dstcc_range *range;
	u64 again, fresh;

	range = dstcc ? dstcc_find(dstcc, from) : NULL;
	if (!range)
		return;
	again = before64(from, dstcc->fresh) ? min_t(u64, dstcc->fresh - from, bytes) : 0;
	fresh = bytes - again;
	range->carrier = subflow->subflow_id;
	range->carried = from + bytes;
	if (range->carried == range->end)
		dstcc_end_packet(ssk);
	if (fresh)
		dstcc->fresh = from + bytes;
	row = dstcc_row(dstcc, range->layer, local_id);
	if (!row)
		return;
	row->carried += fresh;
	row->moved += again;
	if (range->local_id >= 0 && range->local_id != local_id)
		row->strayed += fresh;
	if (range->deadline_ns && ktime_get_ns() > range->deadline_ns)
		row->late += fresh;
}

/* The connection of a token, locked; NULL and *error if it is gone or has another scheduler. */
static struct mptcp_sock *dstcc_lock(struct net *net, u32 token, int *error)
{
	struct mptcp_sock *msk = mptcp_token_get_sock(net, token);
	struct sock *sk = (struct sock *)msk;

	*error = -ENOENT;
	if (!msk)
		return NULL;
	lock_sock(sk);
	if (msk->sched == &mptcp_sched_dstcc && sk->sk_state != TCP_CLOSE) {
		*error = 0;
		return msk;
	}
	if (msk->sched && msk->sched != &mptcp_sched_dstcc)
		*error = -EOPNOTSUPP;
	release_sock(sk);
	sock_put(sk);
	return NULL;
}

static void dstcc_unlock(struct mptcp_sock *msk)
{
	release_sock((struct sock *)msk);
	sock_put((struct sock *)msk);
}

static int dstcc_have(struct mptcp_sock *msk)
{
	if (msk->dstcc)
		return 0;
	msk->dstcc = kzalloc(sizeof(*msk->dstcc), GFP_KERNEL);
	if (!msk->dstcc)
		return -ENOMEM;
	INIT_LIST_HEAD(&msk->dstcc->ranges);
	msk->dstcc->fresh = msk->write_seq;
	return 0;
}

int mptcp_dstcc_set_table(struct net *net, u32 token, const s16 *local_ids, unsigned int layers)
{
	struct mptcp_sock *msk;
	int error;

	if (layers > MPTCP_DSTCC_LAYERS)
		return -E2BIG;
	msk = dstcc_lock(net, token, &error);
	if (!msk)
		return error;
	error = dstcc_have(msk);
	if (!error) {
		memcpy(msk->dstcc->table, local_ids, layers * sizeof(*local_ids));
		msk->dstcc->layers = layers;
	}
	dstcc_unlock(msk);
	return error;
}
EXPORT_SYMBOL_GPL(mptcp_dstcc_set_table);

static void dstcc_retract(struct mptcp_sock *msk)
{
	struct mptcp_dstcc *dstcc = msk->dstcc;
	struct dstcc_range *range, *before;

	list_for_each_entry_safe_reverse(range, before, &dstcc->ranges, list) {
		if (!after64(range->end, msk->write_seq))
			break;
		if (before64(range->begin, msk->write_seq))
			range->end = msk->write_seq;
		else
			dstcc_forget(dstcc, range);
	}
}

int mptcp_dstcc_announce(struct net *net, u32 token, const struct mptcp_dstcc_announcement *list,
			 unsigned int count)
{
	struct dstcc_range *range, *next;
	struct mptcp_sock *msk;
	LIST_HEAD(announced);
	unsigned int i;
	int error;
	u64 at;

	msk = dstcc_lock(net, token, &error);
	if (!msk)
		return error;
	error = dstcc_have(msk);
	if (error)
		goto unlock;
	at = msk->write_seq;
	for (i = 0; i < count; i++) {
		range = kzalloc(sizeof(*range), GFP_KERNEL);
		if (!range) {
			error = -ENOMEM;
			goto undo;
		}
		range->begin = at;
		range->carried = at;
		at += list[i].bytes;
		range->end = at;
		range->layer = list[i].layer;
		range->local_id = list[i].local_id;
		if (range->local_id < 0 && range->layer < msk->dstcc->layers)
			range->local_id = msk->dstcc->table[range->layer];
		range->deadline_ns = list[i].deadline_ns;
		list_add_tail(&range->list, &announced);
	}
	dstcc_forget_acknowledged(msk);
	dstcc_retract(msk);
	list_splice_tail_init(&announced, &msk->dstcc->ranges);
undo:
	list_for_each_entry_safe(range, next, &announced, list)
		kfree(range);
unlock:
	dstcc_unlock(msk);
	return error;
}
EXPORT_SYMBOL_GPL(mptcp_dstcc_announce);

int mptcp_dstcc_rows(struct net *net, u32 token, struct mptcp_dstcc_row *rows)
{
	struct mptcp_sock *msk;
	int error;

	msk = dstcc_lock(net, token, &error);
	if (!msk)
		return error;
	if (msk->dstcc) {
		error = msk->dstcc->rows;
		memcpy(rows, msk->dstcc->counts, error * sizeof(*rows));
	}
	dstcc_unlock(msk);
	return error;
}
EXPORT_SYMBOL_GPL(mptcp_dstcc_rows);

int mptcp_dstcc_living(struct net *net, u32 token, u8 *local_ids, unsigned int most)
{
	struct mptcp_subflow_context *subflow;
	struct mptcp_sock *msk;
	int error;

	msk = dstcc_lock(net, token, &error);
	if (!msk)
		return error;
	mptcp_for_each_subflow(msk, subflow)
		if (error < most && mptcp_subflow_active(subflow))
			local_ids[error++] = READ_ONCE(subflow->local_id);
	dstcc_unlock(msk);
	return error;
}
EXPORT_SYMBOL_GPL(mptcp_dstcc_living);

/* An accepted connection is a copy of its listener, which may have been asked things. */
static void dstcc_init_sock(struct mptcp_sock *msk)
{
	msk->dstcc = NULL;
}

static void dstcc_release_sock(struct mptcp_sock *msk)
{
	struct mptcp_dstcc *dstcc = msk->dstcc;
	struct dstcc_range *range, *next;

	if (!dstcc)
		return;
	list_for_each_entry_safe(range, next, &dstcc->ranges, list)
		kfree(range);
	msk->dstcc = NULL;
	kfree(dstcc);
}

static struct mptcp_sched_ops mptcp_sched_dstcc = {
	.get_subflow	= dstcc_get_subflow,
	.init		= dstcc_init_sock,
	.release	= dstcc_release_sock,
	.name		= "dstcc",
	.owner		= THIS_MODULE,
};

void mptcp_dstcc_init(void)
{
	mptcp_register_scheduler(&mptcp_sched_dstcc);
}
