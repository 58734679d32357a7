FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV NVIDIA_VISIBLE_DEVICES=void
