// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layers of a connection on its subflows: tables and announcements in, counters out. The work is
 * that of MPTCP's packet scheduler "dstcc" (kernel-cc/mptcp), which is compiled into a kernel; one
 * that has none refuses all of it.
 */
#include <net/genetlink.h>

#include "dstcc.h"
#include "dstcc_netlink.h"

#if IS_ENABLED(CONFIG_MPTCP_DSTCC)
#include <net/mptcp_dstcc.h>
#endif

static const struct nla_policy dstcc_place_policy[DSTCC_PLACE_MAX + 1] = {
	[DSTCC_PLACE_LAYER]    = NLA_POLICY_MAX(NLA_U8, DSTCC_LAYERS_OF_CONNECTION - 1),
	[DSTCC_PLACE_LOCAL_ID] = { .type = NLA_U8 },
};

static const struct nla_policy dstcc_range_policy[DSTCC_RANGE_MAX + 1] = {
	[DSTCC_RANGE_LAYER]	  = NLA_POLICY_MAX(NLA_U8, DSTCC_LAYERS_OF_CONNECTION - 1),
	[DSTCC_RANGE_BYTES]	  = NLA_POLICY_MIN(NLA_U32, 1),
	[DSTCC_RANGE_DEADLINE_NS] = { .type = NLA_U64 },
	[DSTCC_RANGE_LOCAL_ID]	  = { .type = NLA_U8 },
};

const struct nla_policy dstcc_layers_policy[DSTCC_LAYERS_MAX + 1] = {
	[DSTCC_LAYERS_TOKEN]  = { .type = NLA_U32 },
	[DSTCC_LAYERS_PLACE]  = NLA_POLICY_NESTED(dstcc_place_policy),
	[DSTCC_LAYERS_RANGE]  = NLA_POLICY_NESTED(dstcc_range_policy),
	[DSTCC_LAYERS_ROW]    = { .type = NLA_REJECT },
	[DSTCC_LAYERS_LIVING] = { .type = NLA_REJECT },
};

#if IS_ENABLED(CONFIG_MPTCP_DSTCC)

static int dstcc_token(struct genl_info *info, u32 *token)
{
	if (!info->attrs[DSTCC_LAYERS_TOKEN]) {
		NL_SET_ERR_MSG(info->extack, "no token");
		return -EINVAL;
	}
	*token = nla_get_u32(info->attrs[DSTCC_LAYERS_TOKEN]);
	return 0;
}

static int dstcc_answer(struct genl_info *info, int error)
{
	if (error == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DSTCC_LAYERS_TOKEN],
				    "no such connection");
	if (error == -EOPNOTSUPP)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DSTCC_LAYERS_TOKEN],
				    "the connection has another scheduler");
	return error;
}

static int dstcc_parse_place(const struct nlattr *nest, s16 *local_ids, unsigned int *layers,
			     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[DSTCC_PLACE_MAX + 1], *local_id;
	int error = nla_parse_nested(tb, DSTCC_PLACE_MAX, nest, dstcc_place_policy, extack);
	u8 layer;

	if (error)
		return error;
	if (!tb[DSTCC_PLACE_LAYER]) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "a place names no layer");
		return -EINVAL;
	}
	layer = nla_get_u8(tb[DSTCC_PLACE_LAYER]);
	local_id = tb[DSTCC_PLACE_LOCAL_ID];
	local_ids[layer] = local_id ? nla_get_u8(local_id) : MPTCP_DSTCC_ANY;
	*layers = max(*layers, layer + 1U);
	return 0;
}

int dstcc_table_set(struct sk_buff *skb, struct genl_info *info)
{
	s16 local_ids[DSTCC_LAYERS_OF_CONNECTION];
	const struct nlattr *nest;
	unsigned int i, layers = 0;
	int error, rest;
	u32 token;

	BUILD_BUG_ON(DSTCC_LAYERS_OF_CONNECTION > MPTCP_DSTCC_LAYERS);
	error = dstcc_token(info, &token);
	if (error)
		return error;
	for (i = 0; i < DSTCC_LAYERS_OF_CONNECTION; i++)
		local_ids[i] = MPTCP_DSTCC_ANY;
	nlmsg_for_each_attr(nest, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(nest) != DSTCC_LAYERS_PLACE)
			continue;
		error = dstcc_parse_place(nest, local_ids, &layers, info->extack);
		if (error)
			return error;
	}
	return dstcc_answer(info, mptcp_dstcc_set_table(genl_info_net(info), token, local_ids,
							layers));
}

static int dstcc_parse_range(const struct nlattr *nest, struct mptcp_dstcc_announcement *range,
			     struct netlink_ext_ack *extack)
{
	struct nlattr *tb[DSTCC_RANGE_MAX + 1], *deadline, *local_id;
	int error = nla_parse_nested(tb, DSTCC_RANGE_MAX, nest, dstcc_range_policy, extack);

	if (error)
		return error;
	if (!tb[DSTCC_RANGE_LAYER] || !tb[DSTCC_RANGE_BYTES]) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "a range has a layer and bytes");
		return -EINVAL;
	}
	deadline = tb[DSTCC_RANGE_DEADLINE_NS];
	range->layer = nla_get_u8(tb[DSTCC_RANGE_LAYER]);
	range->bytes = nla_get_u32(tb[DSTCC_RANGE_BYTES]);
	range->deadline_ns = deadline ? nla_get_u64(deadline) : 0;
	local_id = tb[DSTCC_RANGE_LOCAL_ID];
	range->local_id = local_id ? nla_get_u8(local_id) : MPTCP_DSTCC_ANY;
	return 0;
}

static int dstcc_parse_ranges(struct genl_info *info, struct mptcp_dstcc_announcement *ranges,
			      unsigned int *count)
{
	const struct nlattr *nest;
	int rest, error;

	nlmsg_for_each_attr(nest, info->nlhdr, GENL_HDRLEN, rest) {
		if (nla_type(nest) != DSTCC_LAYERS_RANGE)
			continue;
		if (*count == DSTCC_RANGES_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, nest,
					    "more ranges than one message may have");
			return -E2BIG;
		}
		error = dstcc_parse_range(nest, &ranges[*count], info->extack);
		if (error)
			return error;
		++*count;
	}
	return 0;
}

int dstcc_announce(struct sk_buff *skb, struct genl_info *info)
{
	struct mptcp_dstcc_announcement *ranges;
	unsigned int count = 0;
	u32 token;
	int error = dstcc_token(info, &token);

	if (error)
		return error;
	ranges = kcalloc(DSTCC_RANGES_MAX, sizeof(*ranges), GFP_KERNEL);
	if (!ranges)
		return -ENOMEM;
	error = dstcc_parse_ranges(info, ranges, &count);
	if (!error)
		error = dstcc_answer(info, mptcp_dstcc_announce(genl_info_net(info), token, ranges,
								count));
	kfree(ranges);
	return error;
}

static int dstcc_put_row(struct sk_buff *skb, const struct mptcp_dstcc_row *row)
{
	struct nlattr *nest = nla_nest_start(skb, DSTCC_LAYERS_ROW);

	if (!nest || nla_put_u8(skb, DSTCC_ROW_LAYER, row->layer) ||
	    nla_put_u8(skb, DSTCC_ROW_LOCAL_ID, row->local_id) ||
	    nla_put_u64_64bit(skb, DSTCC_ROW_CARRIED, row->carried, DSTCC_ROW_PAD) ||
	    nla_put_u64_64bit(skb, DSTCC_ROW_STRAYED, row->strayed, DSTCC_ROW_PAD) ||
	    nla_put_u64_64bit(skb, DSTCC_ROW_MOVED, row->moved, DSTCC_ROW_PAD) ||
	    nla_put_u64_64bit(skb, DSTCC_ROW_LATE, row->late, DSTCC_ROW_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* More subflows than a connection of any kernel has. */
#define DSTCC_LIVING_MAX	64

static int dstcc_put_living(struct sk_buff *skb, struct genl_info *info, u32 token)
{
	u8 local_ids[DSTCC_LIVING_MAX];
	int i, error, count;

	count = mptcp_dstcc_living(genl_info_net(info), token, local_ids, DSTCC_LIVING_MAX);
	error = min(count, 0);
	for (i = 0; !error && i < count; i++)
		error = nla_put_u8(skb, DSTCC_LAYERS_LIVING, local_ids[i]);
	return error;
}

static int dstcc_reply_rows(struct genl_info *info, u32 token, const struct mptcp_dstcc_row *rows,
			    int count)
{
	/* A row is at most 88 bytes with its padding. */
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE + 96 * count, GFP_KERNEL);
	void *header;
	int i, error;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_put_reply(skb, info, info->family, 0, DSTCC_CMD_LAYERS_GET);
	error = header ? nla_put_u32(skb, DSTCC_LAYERS_TOKEN, token) : -EMSGSIZE;
	for (i = 0; !error && i < count; i++)
		error = dstcc_put_row(skb, &rows[i]);
	if (!error)
		error = dstcc_put_living(skb, info, token);
	if (error) {
		nlmsg_free(skb);
		return error;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

int dstcc_layers_get(struct sk_buff *skb, struct genl_info *info)
{
	struct mptcp_dstcc_row *rows;
	u32 token;
	int error = dstcc_token(info, &token);

	if (error)
		return error;
	rows = kcalloc(MPTCP_DSTCC_ROWS, sizeof(*rows), GFP_KERNEL);
	if (!rows)
		return -ENOMEM;
	error = mptcp_dstcc_rows(genl_info_net(info), token, rows);
	if (error >= 0)
		error = dstcc_reply_rows(info, token, rows, error);
	else
		error = dstcc_answer(info, error);
	kfree(rows);
	return error;
}

#else

static int dstcc_no_scheduler(struct genl_info *info)
{
	NL_SET_ERR_MSG(info->extack, "the kernel has no MPTCP scheduler dstcc");
	return -EOPNOTSUPP;
}

int dstcc_table_set(struct sk_buff *skb, struct genl_info *info)
{
	return dstcc_no_scheduler(info);
}

int dstcc_announce(struct sk_buff *skb, struct genl_info *info)
{
	return dstcc_no_scheduler(info);
}

int dstcc_layers_get(struct sk_buff *skb, struct genl_info *info)
{
	return dstcc_no_scheduler(info);
}

#endif
