// Command check validates everything in deploy/ with the tools that read it: it renders
// the Helm chart with Helm and decodes the objects strictly as Kubernetes types, loads
// the compose file with the loader of compose, and runs the other files through their
// programs if this machine has them. It lists the checks that it skipped.
//
//	cd deploy/check && go run .
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// The command runs in its own folder, which is a separate module: Helm and the Kubernetes types are dependencies of
// this check, not of the product.
const chartPath = "../helm/fieldmark"

func main() {
	// Every check runs, also after a failure, so that one run reports all that is wrong.
	failed := false
	for _, c := range []struct {
		what string
		do   func() (string, error)
	}{
		{"helm chart", checkChart}, {"compose file", checkCompose}, {"caddy", checkCaddy}, {"nginx", checkNginx},
		{"systemd units", checkUnits}, {"alert rules", checkAlerts},
	} {
		said, err := c.do()
		switch {
		// A missing program is no failure, because few machines have all of them. The line says that nothing was
		// checked, so a skipped check is not mistaken for a passed one.
		case errors.Is(err, exec.ErrNotFound):
			fmt.Printf("%-14s NOT TRIED: %v\n", c.what, err)
		case err != nil:
			failed = true
			fmt.Printf("%-14s WRONG: %v\n", c.what, err)
		default:
			fmt.Printf("%-14s good: %s\n", c.what, said)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// variants are values an operator might give; each must render.
var variants = map[string]map[string]any{
	// The defaults alone: an operator who sets only the required values gets these objects.
	"as it comes": {},
	// Optional templates and lists render nothing by default, so their errors of indentation show only here.
	"everything on": {
		"ingress":        map[string]any{"enabled": true, "className": "nginx"},
		"serviceMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
		"prometheusRule": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
		"dashboard":      map[string]any{"enabled": true},
		"podAnnotations": map[string]any{"a": "b"}, "affinity": map[string]any{"nodeAffinity": map[string]any{}},
		"networkPolicy": map[string]any{"clients": []any{map[string]any{"namespaceSelector": map[string]any{}}},
			"monitors": []any{map[string]any{"podSelector": map[string]any{}}},
			"egress": map[string]any{"enabled": true,
				"database": map[string]any{"to": []any{
					map[string]any{"ipBlock": map[string]any{"cidr": "10.1.2.3/32"}}}},
				"edge":   []any{map[string]any{"ports": []any{map[string]any{"port": 4318, "protocol": "TCP"}}}},
				"origin": []any{map[string]any{"to": []any{map[string]any{"podSelector": map[string]any{}}}}}}},
		"edge": map[string]any{"env": map[string]any{"FIELDMARK_SERVER_TIMING": true},
			"service": map[string]any{"annotations": map[string]any{"a": "b"}}},
		"tolerations":  []any{map[string]any{"key": "edge", "operator": "Exists"}},
		"nodeSelector": map[string]any{"pool": "edge"},
		"image":        map[string]any{"pullSecrets": []any{map[string]any{"name": "registry"}}},
	},
	// Origins order certificates (RFC 8555), and edges end TLS themselves, without an ingress.
	"certificates of a CA": {"acme": map[string]any{"email": "you@example.org"},
		"edge": map[string]any{"service": map[string]any{"annotations": map[string]any{"a": "b"}}}},
	// The network policy must not name the peer of a component that is off.
	"egress without Redis": {"redis": map[string]any{"enabled": false},
		"networkPolicy": map[string]any{"egress": map[string]any{"enabled": true}}},
	// An empty list and false differ from absent values in a template: each must still give whole objects.
	"as little as can be": {
		"redis": map[string]any{"enabled": false}, "networkPolicy": map[string]any{"enabled": false},
		"podDisruptionBudget": map[string]any{"enabled": false},
		"edge": map[string]any{"autoscaling": map[string]any{"enabled": false}, "replicas": 1,
			"trustedNetworks": []any{}}, "origin": map[string]any{"replicas": 1},
	},
}

// checkChart lints the chart, renders it with each of the variants, and requires that bad values are refused by the
// chart itself: an operator reads of a mistake at install, not in the log of a pod that does not start.
func checkChart() (string, error) {
	// The loader follows the links of files/ to deploy/alerts and deploy/grafana, as helm package does.
	loaded, err := loader.Load(chartPath)
	if err != nil {
		return "", err
	}
	if found := lint.All(chartPath, nil, "default", true); found.HighestSeverity > 1 { // beyond information
		return "", fmt.Errorf("lint: %v", found.Messages)
	}
	objects := 0
	for name, values := range variants {
		n, err := render(loaded, values)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		objects += n
	}
	// Without values.schema.json and the checks of the templates, most of these would render to valid objects.
	for name, bad := range map[string]map[string]any{
		"an address with a path": {"siteURL": "https://marks.example/x"},
		"two ends of TLS": {"acme": map[string]any{"email": "you@example.org"},
			"ingress": map[string]any{"enabled": true}},
		"a contact that is no address": {"acme": map[string]any{"email": "you"}},
		"a typing mistake":             {"edgee": map[string]any{}}, "no secret": {"existingSecret": ""},
		"an egress rule that is no list": {"networkPolicy": map[string]any{"egress": map[string]any{"edge": "any"}}},
	} {
		if _, err := render(loaded, bad); err == nil {
			return "", fmt.Errorf("values with %s are taken", name)
		}
	}
	return fmt.Sprintf("linted; %d sets of values render to %d objects, each read strictly", len(variants),
		objects), nil
}

// render renders the chart and reads every object as its kind, without a field
// that the kind has not.
func render(c *chart.Chart, values map[string]any) (int, error) {
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "fieldmark", Namespace: "default",
		IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return 0, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return 0, err
	}
	n := 0
	for name, text := range files {
		// NOTES.txt is text for the terminal, not an object.
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		// A template that loops renders several documents, and one that is off renders blanks.
		for doc := range strings.SplitSeq(text, "\n---") {
			if strings.TrimSpace(doc) == "" {
				continue
			}
			if err := strict([]byte(doc)); err != nil {
				return 0, fmt.Errorf("%s: %w\n%s", name, err, doc)
			}
			n++
		}
	}
	return n, nil
}

// strict decodes an object as the type of its kind and refuses unknown and repeated fields. Decoded
// loosely, a misspelled limit would be no limit.
func strict(doc []byte) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return err
	}
	var into any
	switch head.APIVersion + " " + head.Kind {
	case "apps/v1 Deployment":
		into = &appsv1.Deployment{}
	case "apps/v1 StatefulSet":
		into = &appsv1.StatefulSet{}
	case "v1 ConfigMap":
		into = &corev1.ConfigMap{}
	case "batch/v1 Job":
		into = &batchv1.Job{}
	case "v1 Service":
		into = &corev1.Service{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		into = &autoscalingv2.HorizontalPodAutoscaler{}
	case "policy/v1 PodDisruptionBudget":
		into = &policyv1.PodDisruptionBudget{}
	case "networking.k8s.io/v1 NetworkPolicy":
		into = &networkingv1.NetworkPolicy{}
	case "networking.k8s.io/v1 Ingress":
		into = &networkingv1.Ingress{}
	// Their Go types would bring the module of the Prometheus operator for two small objects.
	case "monitoring.coreos.com/v1 ServiceMonitor", "monitoring.coreos.com/v1 PrometheusRule":
		into = &map[string]any{} // the operator's own kinds; they are YAML at least
	// A kind that is new to the chart must be added above; it would otherwise pass unchecked.
	default:
		return fmt.Errorf("an object nobody expected: %s %s", head.APIVersion, head.Kind)
	}
	if err := yaml.UnmarshalStrict(doc, into); err != nil {
		return err
	}
	return checkObject(into)
}

// checkObject checks what the types do not enforce: a workload selects its own pods,
// every container has limits, and the chart files that it names exist.
func checkObject(o any) error {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return checkWorkload(o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template)
	case *appsv1.StatefulSet:
		return checkWorkload(o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template)
	// A job has no selector: Kubernetes generates one.
	case *batchv1.Job:
		return checkWorkload(o.Name, nil, o.Spec.Template)
	case *corev1.ConfigMap:
		// A dashboard that Grafana cannot parse is still a valid ConfigMap.
		if !json.Valid([]byte(o.Data["fieldmark.json"])) {
			return fmt.Errorf("config map %s holds no dashboard", o.Name)
		}
	case *map[string]any:
		spec, _ := (*o)["spec"].(map[string]any)
		// The rules come from deploy/alerts through a link; a chart packed without it has an empty spec.
		if (*o)["kind"] == "PrometheusRule" && spec["groups"] == nil {
			return errors.New("the PrometheusRule has no groups")
		}
	}
	return nil
}

// checkWorkload checks the pods of one workload, whose kind does not matter here.
func checkWorkload(name string, selector map[string]string, pod corev1.PodTemplateSpec) error {
	// The API server refuses a workload that does not select its pods, but only at install.
	for k, v := range selector {
		if pod.Labels[k] != v {
			return fmt.Errorf("%s selects %s=%s, its pods have %q", name, k, v, pod.Labels[k])
		}
	}
	for _, c := range pod.Spec.Containers {
		limits := c.Resources.Limits
		// A container without a limit can starve the others of its node; a full disk evicts pods of other workloads
		// too.
		if limits.Cpu().IsZero() || limits.Memory().IsZero() || limits.StorageEphemeral().IsZero() {
			return fmt.Errorf("%s: container %s has no limit of CPU, memory or ephemeral storage", name, c.Name)
		}
		for _, e := range c.Env {
			// The host comes from siteURL, not from a second value that could differ from it.
			if e.Name == "FIELDMARK_DOMAIN" && e.Value != "marks.example" {
				return fmt.Errorf("%s: certificates are ordered for %q, want the host of siteURL", name, e.Value)
			}
			// Behind the address of the service, all origins look like one: health checks, least connections and
			// retries of an edge need the name of each pod.
			if e.Name == "FIELDMARK_ORIGIN" && !strings.Contains(e.Value, "-origin-0.") {
				return fmt.Errorf("%s: edges reach origins by %s, want the name of each pod", name, e.Value)
			}
		}
	}
	return nil
}

// checkCompose loads the compose file alone and merged with compose.acme.yaml, as COMPOSE_FILE of an operator does.
func checkCompose() (string, error) {
	project, err := loadCompose("../compose.yaml")
	if err != nil {
		return "", err
	}
	secured, err := loadCompose("../compose.yaml", "../compose.acme.yaml")
	if err != nil {
		return "", err
	}
	// A merge adds to lists and maps unless it says otherwise, so the result is checked, not the second file. The
	// three ports are HTTP, HTTPS and HTTP/3. Without a proxy before it, an edge that accepts X-Forwarded fields of
	// the network of the containers would let clients state their own addresses.
	edge, origin := secured.Services["edge-a"], secured.Services["origin-b"]
	if _, trusts := edge.Environment["FIELDMARK_TRUSTED_NETWORKS"]; trusts || len(edge.Ports) != 3 ||
		edge.Environment["FIELDMARK_ORIGIN"] == nil || origin.Environment["FIELDMARK_DOMAIN"] == nil ||
		*origin.Environment["FIELDMARK_DOMAIN"] != "marks.localhost" || origin.Environment["FIELDMARK_SECRET"] == nil {
		return "", fmt.Errorf("with compose.acme.yaml: an edge has %v and ports %v, an origin %v", edge.Environment,
			edge.Ports, origin.Environment)
	}
	// Caddy and the edge would contend for ports 80 and 443.
	if _, runs := secured.Services["caddy"]; runs {
		return "", errors.New("with compose.acme.yaml, Caddy still runs")
	}
	return strings.Join(names(project), " ") + "; with certificates of a CA: " + strings.Join(names(secured), " "), nil
}

// loadCompose loads files with the variables that have no default; the values only have to be present.
func loadCompose(files ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(files, cli.WithEnv([]string{"FIELDMARK_SECRET=s", "FIELDMARK_NODE_TOKEN=n",
		"POSTGRES_PASSWORD=p", "SITE=marks.localhost", "ACME=you@example.org"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

// names returns the services that run with the default profiles, in a fixed order for the output.
func names(p *types.Project) []string {
	all := p.ServiceNames()
	slices.Sort(all)
	return all
}

// checkCaddy validates the Caddyfile, whose placeholders need values to be parsed.
func checkCaddy() (string, error) {
	cmd := exec.Command("caddy", "validate", "--config", "../caddy/Caddyfile", "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "SITE=marks.example", "EDGES=10.0.0.2:8080 10.0.0.3:8080")
	return ran("caddy validate", cmd)
}

// checkNginx runs nginx -t on the file inside a minimal configuration with a temporary
// certificate.
func checkNginx() (string, error) {
	if _, err := exec.LookPath("nginx"); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fieldmark-nginx")
	if err != nil {
		return "", err
	}
	// It has a private key, though of a certificate for an example name.
	defer os.RemoveAll(dir)
	raw, err := os.ReadFile("../nginx/fieldmark.conf")
	if err != nil {
		return "", err
	}
	if err := certificate(dir); err != nil {
		return "", err
	}
	// nginx -t opens certificates and logs, whose production paths do not exist here and need root.
	conf := strings.NewReplacer("/etc/nginx/tls/marks.example", filepath.Join(dir, "marks"), "/var/log/nginx/",
		dir+"/").Replace(string(raw))
	whole := fmt.Sprintf("pid %s/pid; error_log stderr; events {} http { access_log off; %s }", dir, conf)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(whole), 0o600); err != nil {
		return "", err
	}
	return ran("nginx -t", exec.Command("nginx", "-t", "-p", dir, "-c", filepath.Join(dir, "nginx.conf")))
}

// certificate writes a self-signed certificate and its key, valid for an hour, which outlasts the check.
func certificate(dir string) error {
	// A key of P-256 is generated in less than a millisecond, one of RSA is not.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "marks.example"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "marks.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			0o600),
		os.WriteFile(filepath.Join(dir, "marks.key"),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// checkUnits verifies copies whose program is one that every machine has.
func checkUnits() (string, error) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fieldmark-units")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	units, err := filepath.Glob("../systemd/fieldmark*")
	if err != nil {
		return "", err
	}
	// The manual page is installed with the program, so its absence here is no error of a unit.
	args := []string{"verify", "--man=no"}
	for _, unit := range units {
		// Only copies are changed; the files that are installed stay as they are.
		raw, err := os.ReadFile(unit)
		if err != nil {
			return "", err
		}
		// systemd-analyze fails for a program that is not installed; all other lines are verified as they are.
		at := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(at, bytes.ReplaceAll(raw, []byte("/usr/local/bin/fieldmark"), []byte("/bin/true")),
			0o600); err != nil {
			return "", err
		}
		args = append(args, at)
	}
	return ran("systemd-analyze verify", exec.Command("systemd-analyze", args...))
}

// checkAlerts runs the unit tests of the alert rules: each has series that must fire it and series that must not.
func checkAlerts() (string, error) {
	cmd := exec.Command("promtool", "test", "rules", "fieldmark.test.yml")
	// The test file names the rule file relative to the folder it runs in.
	cmd.Dir = "../alerts"
	return ran("promtool test rules", cmd)
}

// ran runs a program and returns its name. The error is exec.ErrNotFound if the program
// is not installed, and otherwise contains its output.
func ran(name string, cmd *exec.Cmd) (string, error) {
	// Programs report errors on either stream.
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return name, err
}
