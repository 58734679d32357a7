FROM nvidia/cuda:12.8.1-base-rockylinux9
RUN dnf upgrade -y cuda-compat-12-8 && dnf clean all
