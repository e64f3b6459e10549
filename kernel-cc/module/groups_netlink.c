// SPDX-License-Identifier: GPL-2.0-only
/* Groups in the family's messages: who is in one, what it may have beside its window, its state. */
#include <net/genetlink.h>

#include "dstcc.h"
#include "dstcc_netlink.h"

static struct netlink_range_validation dstcc_beside_range = { .max = DSTCC_LAW_CWND_MAX };

const struct nla_policy dstcc_group_policy[DSTCC_GROUP_MAX + 1] = {
	[DSTCC_GROUP_ID]	   = { .type = NLA_U32 },
	[DSTCC_GROUP_SUBFLOW]	   = NLA_POLICY_MIN(NLA_U32, 1),
	[DSTCC_GROUP_BESIDE]	   = NLA_POLICY_FULL_RANGE(NLA_U32, &dstcc_beside_range),
	[DSTCC_GROUP_JOINED]	   = { .type = NLA_REJECT },
	[DSTCC_GROUP_WINDOW]	   = { .type = NLA_REJECT },
	[DSTCC_GROUP_IN_FLIGHT]	   = { .type = NLA_REJECT },
	[DSTCC_GROUP_MEMBERS]	   = { .type = NLA_REJECT },
	[DSTCC_GROUP_WAITING]	   = { .type = NLA_REJECT },
	[DSTCC_GROUP_UNSENT_BYTES] = { .type = NLA_REJECT },
};

struct dstcc_joining {
	struct sock *sk;
	u32 id;
};

static int dstcc_group_id(struct genl_info *info, u32 *id)
{
	if (!info->attrs[DSTCC_GROUP_ID]) {
		NL_SET_ERR_MSG(info->extack, "no group");
		return -EINVAL;
	}
	*id = nla_get_u32(info->attrs[DSTCC_GROUP_ID]);
	return 0;
}

static int dstcc_no_group(struct genl_info *info)
{
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DSTCC_GROUP_ID], "no such group");
	return -ENOENT;
}

/* The subflows of a message; their sockets are held, `count` of them even on an error. */
static int dstcc_parse_joining(struct dstcc_net *own, struct genl_info *info,
			       struct dstcc_joining *joining, unsigned int *count)
{
	const struct nlattr *attribute;
	int rest;

	nlmsg_for_each_attr(attribute, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(attribute) != DSTCC_GROUP_SUBFLOW)
			continue;
		if (*count == DSTCC_ACTIONS_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attribute,
					    "more subflows than one message may have");
			return -E2BIG;
		}
		joining[*count].id = nla_get_u32(attribute);
		joining[*count].sk = dstcc_find(own, joining[*count].id);
		if (!joining[*count].sk) {
			NL_SET_ERR_MSG_ATTR(info->extack, attribute, "no such subflow");
			return -ENOENT;
		}
		++*count;
	}
	return 0;
}

/* How many are in the group now, or an error; one that somebody holds, or that closed, is not. */
static int dstcc_join_all(struct dstcc_net *own, const struct dstcc_joining *joining,
			  unsigned int count, u32 id)
{
	unsigned int i;
	int joined = 0, error = 0;

	for (i = 0; i < count && !error; i++) {
		struct sock *sk = joining[i].sk;
		const struct dstcc *dstcc;
		bool left;

		if (!dstcc_trylock(sk, false))
			continue;
		dstcc = dstcc_of(sk, joining[i].id);
		if (dstcc) {
			left = dstcc->group && dstcc->group != id;
			error = dstcc_group_join(own, sk, id);
			joined += !error;
			if (left) /* it may have waited for room, and hear no ACK */
				dstcc_push(sk);
		}
		release_sock(sk);
	}
	return error ?: joined;
}

/* A message that names a subflow which is not there is refused before anything of it is done. */
int dstcc_group_set(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *beside = info->attrs[DSTCC_GROUP_BESIDE];
	struct dstcc_net *own = dstcc_net(genl_info_net(info));
	struct dstcc_joining *joining;
	unsigned int count = 0, i;
	int error, joined = 0;
	u32 id;

	error = dstcc_group_id(info, &id);
	if (error)
		return error;
	joining = kcalloc(DSTCC_ACTIONS_MAX, sizeof(*joining), GFP_KERNEL);
	if (!joining)
		return -ENOMEM;
	error = dstcc_parse_joining(own, info, joining, &count);
	if (!error) {
		joined = dstcc_join_all(own, joining, count, id);
		error = min(joined, 0);
	}
	for (i = 0; i < count; i++)
		sock_put(joining[i].sk);
	kfree(joining);
	if (!error && beside && dstcc_group_set_beside(own, id, nla_get_u32(beside)))
		error = dstcc_no_group(info);
	return error ?: dstcc_reply_u32(info, DSTCC_CMD_GROUP_SET, DSTCC_GROUP_JOINED, joined);
}

static int dstcc_put_group(struct sk_buff *skb, u32 id, const struct dstcc_group_state *state)
{
	return nla_put_u32(skb, DSTCC_GROUP_ID, id) ||
	       nla_put_u32(skb, DSTCC_GROUP_BESIDE, state->beside) ||
	       nla_put_u32(skb, DSTCC_GROUP_WINDOW, state->window) ||
	       nla_put_u32(skb, DSTCC_GROUP_IN_FLIGHT, state->in_flight) ||
	       nla_put_u32(skb, DSTCC_GROUP_MEMBERS, state->members) ||
	       nla_put_u32(skb, DSTCC_GROUP_WAITING, state->waiting) ||
	       nla_put_u64_64bit(skb, DSTCC_GROUP_UNSENT_BYTES, state->unsent_bytes,
				 DSTCC_GROUP_PAD) ? -EMSGSIZE : 0;
}

int dstcc_group_get(struct sk_buff *request, struct genl_info *info)
{
	struct dstcc_group_state state;
	struct sk_buff *skb;
	void *header;
	int error;
	u32 id;

	error = dstcc_group_id(info, &id);
	if (error)
		return error;
	if (dstcc_group_look(dstcc_net(genl_info_net(info)), id, &state))
		return dstcc_no_group(info);
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, &dstcc_family, 0, DSTCC_CMD_GROUP_GET);
	if (!header || dstcc_put_group(skb, id, &state)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}
