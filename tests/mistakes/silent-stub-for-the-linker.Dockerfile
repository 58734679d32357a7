FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV LIBRARY_PATH=/usr/local/cuda/lib64/stubs
