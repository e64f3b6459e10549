// SPDX-License-Identifier: GPL-2.0-only
/* dstcc_cc: loading, unloading, and what each network namespace has of its own. */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "dstcc.h"

/* Until an agent says otherwise: a slot of a second, as scenarios have, and dstcc.learn's guard. */
#define DSTCC_SLOT_US		USEC_PER_SEC
#define DSTCC_SILENCE_SLOTS	4
#define DSTCC_HEADROOM		2

static unsigned int dstcc_net_id;

struct dstcc_net *dstcc_net(const struct net *net)
{
	return net_generic(net, dstcc_net_id);
}

static int __net_init dstcc_net_init(struct net *net)
{
	struct dstcc_net *own = dstcc_net(net);

	own->net = net;
	xa_init_flags(&own->subflows, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	xa_init_flags(&own->groups, XA_FLAGS_LOCK_BH);
	own->slot_us = DSTCC_SLOT_US;
	own->silence_slots = DSTCC_SILENCE_SLOTS;
	own->silence_us = (u64)DSTCC_SILENCE_SLOTS * DSTCC_SLOT_US;
	own->headroom = DSTCC_HEADROOM;
	mutex_init(&own->lock);
	INIT_DELAYED_WORK(&own->report, dstcc_netlink_report);
	INIT_DELAYED_WORK(&own->tend, dstcc_netlink_tend);
	return 0;
}

/* Before the family goes: no report may be sent without it. */
static void __net_exit dstcc_reports_exit(struct net *net)
{
	dstcc_netlink_close(dstcc_net(net));
}

/*
 * With this control every socket holds the module; its namespace only a program's socket holds, and
 * a subflow of MPTCP. Sockets of the kernel's own may still be here. Each leaves by its release(),
 * before the namespace's memory goes, which the emptied xarrays take; no agent is left to see it.
 */
static void __net_exit dstcc_net_exit(struct net *net)
{
	struct dstcc_net *own = dstcc_net(net);

	xa_destroy(&own->subflows);
	xa_destroy(&own->groups);
	mutex_destroy(&own->lock);
}

static struct pernet_operations dstcc_net_ops = {
	.init	= dstcc_net_init,
	.exit	= dstcc_net_exit,
	.id	= &dstcc_net_id,
	.size	= sizeof(struct dstcc_net),
};

static struct pernet_operations dstcc_reports_ops = {
	.exit	= dstcc_reports_exit,
};

static int __init dstcc_module_init(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct dstcc) > ICSK_CA_PRIV_SIZE);
	error = dstcc_group_init();
	if (error)
		return error;
	error = register_pernet_subsys(&dstcc_net_ops);
	if (error)
		goto no_net;
	error = dstcc_netlink_register();
	if (error)
		goto no_netlink;
	error = register_pernet_subsys(&dstcc_reports_ops);
	if (error)
		goto no_reports;
	error = tcp_register_congestion_control(&dstcc_ops);
	if (error)
		goto no_control;
	return 0;

no_control:
	unregister_pernet_subsys(&dstcc_reports_ops);
no_reports:
	dstcc_netlink_unregister();
no_netlink:
	unregister_pernet_subsys(&dstcc_net_ops);
no_net:
	dstcc_group_exit();
	return error;
}

static void __exit dstcc_module_exit(void)
{
	tcp_unregister_congestion_control(&dstcc_ops);
	unregister_pernet_subsys(&dstcc_reports_ops);
	dstcc_netlink_unregister();
	unregister_pernet_subsys(&dstcc_net_ops);
	dstcc_group_exit();
}

module_init(dstcc_module_init);
module_exit(dstcc_module_exit);

MODULE_DESCRIPTION("Congestion control steered from user space, per MPTCP subflow");
MODULE_AUTHOR("dstcc");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcp_dstcc");
