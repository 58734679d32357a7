FROM nvidia/cuda:11.7.1-base-ubuntu22.04
RUN apt-get update
