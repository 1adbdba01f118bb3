# Runs svc dev where only Docker is installed: see compose.yaml.
FROM node:22-slim AS engine
WORKDIR /engine
COPY pkg/local/engine/package.json pkg/local/engine/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM golang:1.26-trixie AS build
WORKDIR /svc
COPY . .
RUN CGO_ENABLED=0 go build -o bin/svc ./cmd/svc

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends socat && rm -rf /var/lib/apt/lists/* && \
    useradd --create-home svc && install -d -o svc -m 700 /home/svc/.local
COPY --from=engine /engine/node_modules/@dynoxide/linux-x64/dynoxide /usr/local/bin/
COPY --from=build /svc/bin/svc /usr/local/bin/
USER svc
WORKDIR /home/svc
VOLUME /home/svc/.local
EXPOSE 8080
# svc dev listens on the loopback address only. socat forwards to it what Docker publishes.
CMD ["sh", "-c", "socat TCP-LISTEN:8080,bind=$(hostname -i),fork,reuseaddr TCP:127.0.0.1:8080 & exec svc dev"]
