FROM nvidia/cuda
RUN apt-get update
