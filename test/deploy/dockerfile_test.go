package deploy_test

import (
	"slices"
	"strings"
	"testing"
)

// instruction is one line of a Dockerfile, continuation lines joined.
type instruction struct{ name, args string }

// stages splits a Dockerfile at its FROM lines.
func stages(data []byte) [][]instruction {
	var all [][]instruction
	text := strings.ReplaceAll(string(data), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		if name == "FROM" {
			all = append(all, nil)
		}
		if len(all) > 0 {
			all[len(all)-1] = append(all[len(all)-1], instruction{name, strings.Join(strings.Fields(args), " ")})
		}
	}
	return all
}

func checkDockerfile(data []byte) faults {
	var f faults
	all := stages(data)
	if len(all) != 2 {
		return faults{"want a build stage and an image"}
	}
	build, image := all[0], all[1]
	has := func(stage []instruction, name, args string) bool {
		return slices.ContainsFunc(stage, func(i instruction) bool { return i.name == name && strings.Contains(i.args, args) })
	}
	builder, _, _ := strings.Cut(build[0].args, " AS ")
	f.want(pinned(builder), "the builder is not pinned")
	for _, flag := range []string{"CGO_ENABLED=0", "-trimpath", "-s -w -X main.version="} {
		f.want(has(build, "RUN", flag), "the build lacks "+flag)
	}
	f.want(image[0].args == "scratch", "the image is not empty")
	f.want(has(image, "USER", "65532:65532"), "the image does not set a numeric user")
	f.want(!has(image, "USER", "root") && !has(image, "USER", "0:"), "the image runs as root")
	f.want(has(image, "HEALTHCHECK", `CMD ["/toolgate", "healthcheck"]`), "no health check by the binary")
	f.want(has(image, "ENTRYPOINT", `["/toolgate"]`), "the entry point is not the binary")
	f.want(has(image, "VOLUME", "/var/lib/toolgate"), "the state folder is not a volume")
	f.want(!has(image, "RUN", ""), "an empty image can run nothing")
	f.want(!has(image, "ENV", ""), "the image sets a variable")
	f.want(!has(image, "ADD", ""), "ADD fetches and unpacks: use COPY")
	return f
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	run(t, read(t, "../../Dockerfile"), checkDockerfile, []mutation{
		{"a floating builder", "golang:1.26.8-bookworm", "golang:latest", "builder is not pinned"},
		{"a C library needed", "CGO_ENABLED=0", "CGO_ENABLED=1", "CGO_ENABLED=0"},
		{"paths of the builder kept", "-trimpath", "", "-trimpath"},
		{"no version", "-X main.version=${VERSION}", "", "-X main.version="},
		{"a base with a shell", "FROM scratch", "FROM alpine:3.22.1", "not empty"},
		{"root", "USER 65532:65532", "USER root", "runs as root"},
		{"no user", "USER 65532:65532\n", "", "numeric user"},
		{"no health check", "HEALTHCHECK", "LABEL x=", "health check"},
		{"no volume", "VOLUME [\"/var/lib/toolgate\"]", "", "not a volume"},
		{"a switch baked in", "EXPOSE", "ENV ALLOW_LOOPBACK_TOOL_URLS=true\nEXPOSE", "sets a variable"},
		{"one stage", "FROM scratch\n", "", "build stage"},
	})
}
