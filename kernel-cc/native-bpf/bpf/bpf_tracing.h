/* SPDX-License-Identifier: GPL-2.0 */
/* A program with named arguments is a function with them. */
#ifndef DSTCC_NATIVE_BPF_TRACING_H
#define DSTCC_NATIVE_BPF_TRACING_H

#define BPF_PROG(name, args...) name(args)

#endif
