FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04
RUN apt-get update
RUN apt-get install -y nvidia-utils-470
