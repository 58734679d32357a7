# syntax=docker/dockerfile:1
FROM python:3.12-slim AS web
FROM nvidia/cuda:13.4.1-runtime-ubuntu24.04
COPY --from=web /usr/local/lib /usr/local/lib
