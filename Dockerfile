# dstcc from its wheel, with what its kernel backend is built with:
#
#     docker build -t dstcc .
#     docker run --rm -v "$PWD:/work" dstcc emulate scenario.toml -o run
#
# Guests of the kernel backend and of `dstcc run` need user namespaces, ptrace and mounts, which Docker's default profile
# forbids; `dstcc doctor` says what is missing:
#
#     docker run --rm --security-opt seccomp=unconfined --security-opt apparmor=unconfined --shm-size 2g \
#         -v "$PWD:/work" -v dstcc:/root/.cache/dstcc dstcc kernel build
FROM python:3.11-slim-bookworm AS wheel
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ libopenh264-dev libvpx-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim-bookworm
COPY scripts/setup-debian.sh /tmp/setup-debian.sh
RUN sh /tmp/setup-debian.sh kernel && rm -rf /var/lib/apt/lists/* /tmp/setup-debian.sh
COPY --from=wheel /wheels /wheels
COPY requirements/constraints.txt /tmp/constraints.txt
RUN wheel="$(ls /wheels/dstcc-*.whl)" \
    && pip install --no-cache-dir --constraint /tmp/constraints.txt "${wheel}[ephemeris]" \
    && rm -rf /wheels /tmp/constraints.txt
WORKDIR /work
ENTRYPOINT ["dstcc"]
CMD ["doctor"]
