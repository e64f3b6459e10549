/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In the place of a vmlinux.h made from BTF, for struct_ops programs that are compiled as a module: the kernel's own
 * headers. A BPF program cannot call their inline functions and writes its own under the same names; so these names are
 * the program's from here on. What it declares with __ksym is the kernel's and stays.
 */
#ifndef DSTCC_NATIVE_VMLINUX_H
#define DSTCC_NATIVE_VMLINUX_H

#include <linux/kernel.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#undef min
#undef max
#undef min_t
#undef max_t
#undef clamp
#undef min_not_zero
#undef ARRAY_SIZE
#undef USEC_PER_SEC
#undef USEC_PER_MSEC
#undef NSEC_PER_SEC
#undef HZ
#undef READ_ONCE
#undef WRITE_ONCE
#undef before
#undef after
#undef tcp_jiffies32
#undef inet_csk_ca
#undef TCP_INFINITE_SSTHRESH
#undef TCP_INIT_CWND

#define own(name) dstcc_bpf_own_##name
#define tcp_sk own(tcp_sk)
#define inet_sk own(inet_sk)
#define inet_csk own(inet_csk)
#define inet_csk_ca own(inet_csk_ca)
#define before own(before)
#define after own(after)
#define tcp_snd_cwnd own(tcp_snd_cwnd)
#define tcp_snd_cwnd_set own(tcp_snd_cwnd_set)
#define tcp_in_slow_start own(tcp_in_slow_start)
#define tcp_in_initial_slowstart own(tcp_in_initial_slowstart)
#define tcp_is_cwnd_limited own(tcp_is_cwnd_limited)
#define tcp_left_out own(tcp_left_out)
#define tcp_packets_in_flight own(tcp_packets_in_flight)
#define tcp_current_ssthresh own(tcp_current_ssthresh)
#define tcp_needs_internal_pacing own(tcp_needs_internal_pacing)
#define tcp_cc_eq own(tcp_cc_eq)
#define tcp_min_rtt own(tcp_min_rtt)
#define tcp_stamp_us_delta own(tcp_stamp_us_delta)
#define fls own(fls)
#define fls64 own(fls64)
#define bictcp_clock_us own(bictcp_clock_us)

#endif
