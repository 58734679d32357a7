FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN rm -rf /usr/local/cuda/compat /usr/local/cuda-12.8/compat
