FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
       libnccl2=2.21.5-1+cuda12.4
