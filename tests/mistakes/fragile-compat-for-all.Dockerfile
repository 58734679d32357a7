FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64
