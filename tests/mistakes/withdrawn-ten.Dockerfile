# train
FROM ubuntu:18.04 AS sources
RUN echo sources > /list
FROM nvidia/cuda:10.1-cudnn7-runtime-ubuntu18.04
COPY --from=sources /list /list
