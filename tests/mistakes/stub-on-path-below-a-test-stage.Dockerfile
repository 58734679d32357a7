FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS base
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:$LD_LIBRARY_PATH

FROM base AS test
ENV LD_LIBRARY_PATH=/opt/app/lib:$LD_LIBRARY_PATH
RUN /usr/bin/app --self-test
