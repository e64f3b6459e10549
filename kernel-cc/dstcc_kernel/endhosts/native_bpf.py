"""``--bpf FILE``: a struct_ops program (C source) as a module.

User-Mode Linux compiles no BPF, and struct_ops needs that. The program's source means the same in C: with the
kernel's own headers for ``vmlinux.h`` and small ones for libbpf's (``kernel-cc/native-bpf``), a congestion control as
struct_ops compiles to a module that registers it. BPF's verifier does not look at it, and maps are not there.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dstcc.errors import InputError

from ..sources import folder

STRUCT_OPS = re.compile(r'SEC\("\.struct_ops(?:\.link)?"\)\s*struct\s+tcp_congestion_ops\s+(\w+)')
MAPS = re.compile(r'SEC\("\.maps"\)')
GLUE = """// SPDX-License-Identifier: GPL-2.0
#include "{file}"

static int __init dstcc_bpf_begin(void)
{{
	{name}.owner = THIS_MODULE;
	return tcp_register_congestion_control(&{name});
}}

static void __exit dstcc_bpf_end(void)
{{
	tcp_unregister_congestion_control(&{name});
}}

module_init(dstcc_bpf_begin);
module_exit(dstcc_bpf_end);
MODULE_LICENSE("GPL");
"""


def check_program(path: Path) -> str:
    """The name of the program's ``tcp_congestion_ops``; raises :class:`InputError` for what cannot be one."""
    if not path.is_file():
        raise InputError(f"--bpf {path}: no such file")
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        raise InputError(
            f"--bpf {path}: is not C source; a compiled program cannot run here, its source can"
        ) from None
    if MAPS.search(text):
        raise InputError(
            f"--bpf {path}: has maps; here a program keeps its state in icsk_ca_priv or in variables"
        )
    names = STRUCT_OPS.findall(text)
    if len(names) != 1:
        raise InputError(
            f'--bpf {path}: has {len(names)} SEC(".struct_ops") struct tcp_congestion_ops; one is loaded'
        )
    return str(names[0])


def module_folder(path: Path, into: Path) -> None:
    """Fill the folder ``into`` with the sources of a module that is the program."""
    name = check_program(path)
    into.mkdir()
    for beside in sorted(path.parent.glob("*.h")):
        if beside.name != "vmlinux.h":
            shutil.copyfile(beside, into / beside.name)
    shutil.copyfile(path, into / path.name)
    shutil.copyfile(folder("native-bpf") / "vmlinux.h", into / "vmlinux.h")
    shutil.copytree(folder("native-bpf") / "bpf", into / "bpf")
    (into / "dstcc_bpf.c").write_text(GLUE.format(name=name, file=path.name))
    (into / "Kbuild").write_text("obj-m += dstcc_bpf.o\nccflags-y += -I$(src)\n")
