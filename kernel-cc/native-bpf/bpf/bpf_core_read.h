/* SPDX-License-Identifier: GPL-2.0 */
/* Reads that need no relocation: the structures are those of the kernel that the module is built for. */
#ifndef DSTCC_NATIVE_BPF_CORE_READ_H
#define DSTCC_NATIVE_BPF_CORE_READ_H

#define dstcc_read_1(from, a) ((from)->a)
#define dstcc_read_2(from, a, b) ((from)->a->b)
#define dstcc_read_3(from, a, b, c) ((from)->a->b->c)
#define dstcc_read_chosen(_1, _2, _3, name, ...) name
#define BPF_CORE_READ(from, ...) \
	dstcc_read_chosen(__VA_ARGS__, dstcc_read_3, dstcc_read_2, dstcc_read_1)(from, __VA_ARGS__)
#define bpf_core_field_exists(field) 1

#endif
