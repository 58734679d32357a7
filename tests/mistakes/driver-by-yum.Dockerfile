FROM nvidia/cuda:11.8.0-base-rockylinux8
RUN dnf install -y epel-release && \
    dnf install -y nvidia-driver-cuda-libs && \
    dnf clean all
