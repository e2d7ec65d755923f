package config_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/config"
	"github.com/countersign/countersign/review/permission"
)

const secret = "0123456789abcdef0123456789abcdef"

func testKey(t testing.TB) string {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}))
}

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLoad(t *testing.T) {
	key := testKey(t)
	file := write(t, "countersign.yml", "\ufefflisten_addr: \"127.0.0.1:9000\"\r\ncountersign_mode: auto\r\ngithub_v3_api_url: https://ghe.example/api/v3/\r\n")
	s, err := config.Load(config.Sources{File: file, Env: env(map[string]string{
		"GITHUB_APP_INTEGRATION_ID":          "42",
		"GITHUB_APP_WEBHOOK_SECRET":          secret,
		"GITHUB_APP_WEBHOOK_SECRET_PREVIOUS": "the previous secret 123",
		"GITHUB_APP_PRIVATE_KEY_FILE":        write(t, "key.pem", key),
		"LISTEN_ADDR":                        ":7000",
		"DATABASE_URL":                       "", // as compose files write "not set"
	})})
	if err != nil {
		t.Fatal(err)
	}
	if s.ListenAddr != ":7000" {
		t.Errorf("listen address %q: the environment wins over the file", s.ListenAddr)
	}
	if s.V3URL != "https://ghe.example/api/v3" || s.V4URL != "" /* it follows from the other */ {
		t.Errorf("URLs %q, %q", s.V3URL, s.V4URL)
	}
	if s.AppID != 42 || len(s.WebhookSecrets) != 2 || s.Mode != permission.Auto || s.Debounce != 10*time.Second || len(s.PrivateKey) == 0 {
		t.Errorf("got %+v", s)
	}
}

// Everything that is wrong is said at once, by name, without showing a secret.
func TestLoadFaults(t *testing.T) {
	file := write(t, "countersign.yml", "listen_adr: x\nlog_level: loud\nlog_level: info\ncountersign_workers: [1]\n")
	_, err := config.Load(config.Sources{File: file, Env: env(map[string]string{
		"GITHUB_APP_WEBHOOK_SECRET":   "short-secret",
		"GITHUB_APP_INTEGRATION_ID":   "my-app",
		"GITHUB_V4_API_URL":           "api.github.com/graphql",
		"GITHUB_APP_PRIVATE_KEY_FILE": "/does/not/exist.pem",
		"COUNTERSIGN_MODE":            "yolo",
		"COUNTERSIGN_DEBOUNCE":        "10",
		"COUNTERSIGN_RECONCILE":       "0",
		"DATABASE_URL":                "mysql://u:hunter2@db/x",
	})})
	var faults *config.FaultsError
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want a FaultsError", err)
	}
	for _, want := range []string{
		`listen_adr (` + file + `:1): unknown setting (did you mean "listen_addr"?)`,
		`log_level (` + file + `:3): is set twice`,
		`countersign_workers (` + file + `:4): want a plain value`,
		"LOG_LEVEL (" + file + ":2): want debug, info, warn or error",
		"GITHUB_APP_WEBHOOK_SECRET (environment): is 12 characters long; want at least 16 random ones",
		"GITHUB_APP_INTEGRATION_ID (environment): want the App's numeric id",
		"GITHUB_V4_API_URL (environment): want an absolute http(s) URL",
		"GITHUB_APP_PRIVATE_KEY_FILE (environment): cannot be read: no such file or directory; want the path of a file",
		"COUNTERSIGN_MODE (environment): unknown mode \"yolo\": use observe, auto or radical",
		"COUNTERSIGN_DEBOUNCE (environment): want a duration from 0s to 5m0s",
		"COUNTERSIGN_RECONCILE (environment): want a duration from 5m0s to 24h0m0s",
		"DATABASE_URL (environment): is not of PostgreSQL",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if n := len(faults.Faults); n != 12 {
		t.Errorf("%d faults, want 12 (each once):\n%v", n, err)
	}
	for _, leak := range []string{"short-secret", "hunter2"} {
		if strings.Contains(err.Error(), leak) {
			t.Errorf("the error shows %q", leak)
		}
	}
}

func TestNoSecretNoStart(t *testing.T) {
	_, err := config.Load(config.Sources{Env: env(map[string]string{"GITHUB_APP_INTEGRATION_ID": "1", "GITHUB_APP_PRIVATE_KEY": testKey(t)})})
	if err == nil || !strings.Contains(err.Error(), "GITHUB_APP_WEBHOOK_SECRET: is not set") {
		t.Fatalf("got %v", err)
	}
}

// Several documents, no mapping, no YAML at all: an error that names the file.
func TestLoadFileShapes(t *testing.T) {
	for _, text := range []string{"a: 1\n---\nb: 2\n", "- a\n", "a: [\n", "{{{", "x: &a [*a]\n"} {
		file := write(t, "c.yml", text)
		_, err := config.Load(config.Sources{File: file})
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: got %v, want an error that names the file", text, err)
		}
	}
}

// Every setting is documented and has an effect that differs by value or an
// error that says what would be right.
func TestReference(t *testing.T) {
	for _, d := range config.Reference() {
		if d.Name == "" || d.Meaning == "" {
			t.Errorf("%+v: not documented", d)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("listen_addr: x", ":80", "10s")
	f.Add("a: &a [*a,*a]", "", "-1h")
	f.Fuzz(func(t *testing.T, file, addr, debounce string) {
		p := filepath.Join(t.TempDir(), "c.yml")
		if err := os.WriteFile(p, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := config.Load(config.Sources{File: p, Env: env(map[string]string{"LISTEN_ADDR": addr, "COUNTERSIGN_DEBOUNCE": debounce})})
		if err == nil {
			t.Fatalf("started without a secret: %+v", s)
		}
	})
}

// A secret pasted where a path belongs is not shown, and a token is not sent to a
// host that was not meant.
func TestMisplacedSecrets(t *testing.T) {
	key := testKey(t)
	const pasted = "0123456789abcdef0123456789abcdef"
	_, err := config.Load(config.Sources{Env: env(map[string]string{
		"GITHUB_APP_INTEGRATION_ID": "42", "GITHUB_APP_WEBHOOK_SECRET_FILE": pasted, "GITHUB_APP_PRIVATE_KEY_FILE": key,
		"GITHUB_V3_API_URL": "https://ghe.example/api/v3", "GITHUB_V4_API_URL": "https://api.github.com/graphql",
	})})
	if err == nil {
		t.Fatal("loaded")
	}
	for _, leak := range []string{pasted, "PRIVATE KEY", key[40:80]} {
		if strings.Contains(err.Error(), leak) {
			t.Errorf("the error shows %q: %v", leak, err)
		}
	}
	for _, want := range []string{"GITHUB_APP_WEBHOOK_SECRET_FILE (environment): cannot be read", "GITHUB_APP_PRIVATE_KEY_FILE (environment): cannot be read",
		"is on api.github.com while GITHUB_V3_API_URL is on ghe.example"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
