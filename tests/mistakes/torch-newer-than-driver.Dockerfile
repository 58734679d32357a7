FROM python:3.12-slim
RUN pip install \
      numpy \
      torch==2.11.0
