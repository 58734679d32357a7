ARG VARIANT=base
FROM nvidia/cuda:11.7.0-${VARIANT}-ubuntu20.04
