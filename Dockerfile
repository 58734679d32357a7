# syntax=docker/dockerfile:1
# imagelint by itself: one static file and the certificates to trust. Stage `ci` also has a shell and git.
#
#   docker build --tag imagelint .
#   docker build --tag imagelint:ci --target ci .
#   docker run --rm --volume "$PWD:/repo:ro" imagelint check
#
# A release sets PROGRAM=prebuilt, with the programs of both CPU architectures in dist/amd64 and dist/arm64.
ARG PROGRAM=build

FROM rust:1.95-bookworm AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN apt-get update \
    && apt-get install --yes --no-install-recommends musl-tools=1.2.3-1 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN target="$(uname -m)-unknown-linux-musl" \
    && rustup target add "$target" \
    && cargo install --locked --path . --target "$target" --root /out

FROM scratch AS prebuilt
ARG TARGETARCH
COPY dist/${TARGETARCH}/imagelint /out/bin/imagelint

FROM ${PROGRAM} AS program

FROM debian:12-slim AS ci
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=program /out/bin/imagelint /usr/bin/imagelint
WORKDIR /repo
CMD ["imagelint", "check"]

FROM scratch
COPY --from=ci /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=program /out/bin/imagelint /usr/bin/imagelint
ENV PATH=/usr/bin
WORKDIR /repo
USER 65532:65532
ENTRYPOINT ["/usr/bin/imagelint"]
CMD ["check"]
