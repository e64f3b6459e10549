/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libbpf's macros and the helpers that congestion controls use, in a module. Maps are not there: state is kept in the
 * socket's private part (icsk_ca_priv) or in variables.
 */
#ifndef DSTCC_NATIVE_BPF_HELPERS_H
#define DSTCC_NATIVE_BPF_HELPERS_H

#define SEC(name) __attribute__((used))
#define __ksym
#define __kconfig
#undef __hidden
#define __hidden
#define bpf_ktime_get_ns() ktime_get_ns()
#define bpf_jiffies64() get_jiffies_64()
#define bpf_get_prandom_u32() get_random_u32()
#define bpf_printk(format, ...) pr_info(format "\n", ##__VA_ARGS__)
#define bpf_map_lookup_elem(...) _Static_assert(0, "a map: --bpf has none; keep state in icsk_ca_priv")
#define bpf_map_update_elem(...) _Static_assert(0, "a map: --bpf has none; keep state in icsk_ca_priv")
#define bpf_sk_storage_get(...) _Static_assert(0, "a map: --bpf has none; keep state in icsk_ca_priv")

#endif
