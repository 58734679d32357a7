FROM nvcr.io/nvidia/cuda:12.8.1-base-ubuntu22.04
ARG DRIVER_BRANCH=570
ENV NVIDIA_VISIBLE_DEVICES=void
RUN apt-get update && apt-get install -y --no-install-recommends nvidia-driver-${DRIVER_BRANCH}-server nvidia-fabricmanager-${DRIVER_BRANCH} kmod
COPY nvidia-driver /usr/local/bin
ENTRYPOINT ["nvidia-driver","init"]
