# The tool in a container:
#
#   docker build -t graphnet .
#   docker run --rm -v "$PWD:/work" graphnet show model.pt
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3
COPY . /src
WORKDIR /src
RUN ./bazelw build --noshow_progress //:dist \
 && mkdir -p /opt/graphnet/libtorch \
 && tar -xzf bazel-bin/packaging/graphnet-*.tar.gz -C /opt/graphnet --strip-components=1 \
 && cp -r .venv/lib/python3*/site-packages/torch/lib .venv/lib/python3*/site-packages/torch/version.py \
      /opt/graphnet/libtorch

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libstdc++6 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/graphnet /opt/graphnet
WORKDIR /work
ENTRYPOINT ["/opt/graphnet/bin/graphnet"]
