FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS base
COPY app /usr/bin/app

FROM base AS serve
CMD ["app"]

FROM base AS test
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs/:$LD_LIBRARY_PATH
RUN /usr/bin/app --self-test
