# syntax=docker/dockerfile:1
# imagelint by itself: one static file and the certificates to trust.
#
#   docker build --tag imagelint .
#   docker run --rm --volume "$PWD:/repo:ro" imagelint check
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

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/bin/imagelint /usr/bin/imagelint
ENV PATH=/usr/bin
WORKDIR /repo
USER 65532:65532
ENTRYPOINT ["/usr/bin/imagelint"]
CMD ["check"]
