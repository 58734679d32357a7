FROM nvidia/cuda:12.8.1-base-ubuntu22.04
ENV NVIDIA_DISABLE_REQUIRE=true
COPY plugin /usr/bin/plugin
