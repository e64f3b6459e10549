#!/bin/sh
# Install the Debian packages dstcc uses, each with its reason; does nothing when all are there.
#
#   scripts/setup-debian.sh [kernel] [test] [programs] [cluster]    what dstcc itself is built with, and what the words name
set -eu

# package        why
PACKAGES="
g++              the simulator is a C++ extension
python3-dev      its headers
python3-venv     the project's own virtual environment
libvpx-dev       VP9 quality-scalable encoding
libopenh264-dev  OpenH264 temporal layers
"
KERNEL="
libisal-dev      Reed-Solomon codes of coded packets on the kernel
linux-source-6.12  the kernel that scenarios run on in virtual time; from the security archive
patch            puts our MPTCP scheduler into it
flex             its configuration's language
bison            likewise
bc               its build computes with it
xz-utils         its source is packed with it
kmod             loads our module into it
clang            builds our BPF program
bpftool          loads it
libbpf-dev       its headers
iproute2         sets networks up
iperf3           the examples fly it over links to Mars
curl             likewise
rsync            likewise
iputils-ping     likewise
"
TEST="
chromium         the tests open the report in a real browser
fonts-dejavu-core  the report's screenshots need a font
linux-source-6.1  Debian 12's own kernel (dstcc kernel build --kernel 6.1; make test-kernel)
tshark           decodes what trials put on the wire
sparse           checks our module's C
ngtcp2-client    fetches a page over HTTP/3 (examples/quic/ngtcp2.toml)
ngtcp2-server    likewise
libclang-rt-14-dev  the sanitizers and libFuzzer of Debian 12's clang (make fuzz)
"
PROGRAMS="
atftp            a table flies these over links to the Moon, Mars and Jupiter
atftpd           likewise
bind9-dnsutils   likewise
chrony           likewise
dnsmasq-base     likewise
git              likewise
gstreamer1.0-plugins-base  likewise
gstreamer1.0-plugins-good  likewise
gstreamer1.0-tools  likewise
libcoap3-bin     likewise
mosquitto        likewise
mosquitto-clients  likewise
ntpsec-ntpdig    likewise
openssh-client   likewise
openssh-server   likewise
python3-aiosmtpd  likewise
redis-server     likewise
redis-tools      likewise
socat            likewise
swaks            likewise
wget             likewise
"
CLUSTER="
slurmctld        sweeps are tested on Slurm's real daemons
slurmd           likewise
slurm-client     its commands
munge            its daemons trust each other by it
"
for word in "$@"; do
    case $word in
        kernel) PACKAGES="$PACKAGES$KERNEL" ;;
        test) PACKAGES="$PACKAGES$TEST" ;;
        programs) PACKAGES="$PACKAGES$PROGRAMS" ;;
        cluster) PACKAGES="$PACKAGES$CLUSTER" ;;
        *) echo "usage: scripts/setup-debian.sh [kernel] [test] [programs] [cluster]" >&2; exit 2 ;;
    esac
done

missing=""
for package in $(printf '%s' "$PACKAGES" | awk 'NF {print $1}'); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup-debian: not a Debian system; install the equivalents of:$missing" >&2
    exit 1
fi
run=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup-debian: run as root: apt-get install$missing" >&2; exit 1; }
    run=sudo
fi
echo "setup-debian: installing:$missing"
printf '%s' "$PACKAGES" | awk 'NF {name=$1; $1=""; print "  " name ":" $0}'
$run apt-get update -qq
DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends $missing >/dev/null
