package config_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign/countersign/config"
)

func TestMistyped(t *testing.T) {
	got := config.Mistyped([]string{
		"COUNTERSIGN_MOD=auto", "COUNTERSIGN_FROBNICATE=hunter2", "countersign_mode=auto", "GITHUB_APP_WEBHOOK_SECRT=hunter2",
		"GITHUB_APP_PRIVATE_KEY_FIL=/x", "COUNTERSIGN_MODE_FILE=/x", // not a secret: has no _FILE
		// What others set is not ours to judge.
		"GITHUB_TOKEN=x", "GITHUB_API_URL=x", "GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=x", "PATH=x", "LISTEN_ADDRS=x", "=odd", "",
		// What is right.
		"COUNTERSIGN_MODE=auto", "COUNTERSIGN_CONFIG=/x", "GITHUB_APP_WEBHOOK_SECRET_FILE=/x", "GITHUB_V3_API_URL=x", "COUNTERSIGN_OPS_ADDR=:1",
	})
	want := []string{
		`COUNTERSIGN_FROBNICATE (environment): unknown setting, without effect; countersign serve -h lists all`,
		`COUNTERSIGN_MOD (environment): unknown setting, without effect (did you mean "COUNTERSIGN_MODE"?)`,
		`COUNTERSIGN_MODE_FILE (environment): unknown setting, without effect; countersign serve -h lists all`,
		`GITHUB_APP_PRIVATE_KEY_FIL (environment): unknown setting, without effect (did you mean "GITHUB_APP_PRIVATE_KEY_FILE"?)`,
		`GITHUB_APP_WEBHOOK_SECRT (environment): unknown setting, without effect (did you mean "GITHUB_APP_WEBHOOK_SECRET"?)`,
		`countersign_mode (environment): unknown setting, without effect (did you mean "COUNTERSIGN_MODE"?)`,
	}
	var lines []string
	for _, f := range got {
		lines = append(lines, f.String())
	}
	if text := strings.Join(lines, "\n"); text != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", text, strings.Join(want, "\n"))
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("COUNTERSIGN_X%d=1", i))
	}
	if n := len(config.Mistyped(many)); n != 20 {
		t.Errorf("%d warnings of 1000, want 20", n)
	}
}

// What stands in the key's place is called by its name.
func TestPrivateKeysThatAreNone(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	ecKey := block("EC PRIVATE KEY", sec1, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ec)
	ecPKCS8 := block("PRIVATE KEY", pkcs8, err)
	pkcs8, err = x509.MarshalPKCS8PrivateKey(ed)
	edKey := block("PRIVATE KEY", pkcs8, err)
	public, err := x509.MarshalPKIXPublicKey(&ec.PublicKey)
	pub := block("PUBLIC KEY", public, err)
	rsaKey := testKey(t)
	for _, tc := range []struct{ name, key, want string }{
		{"EC", ecKey, "is an EC key, and GitHub Apps sign with RSA"},
		{"EC in PKCS#8", ecPKCS8, "is an EC key, and GitHub Apps sign with RSA"},
		{"Ed25519", edKey, "is an Ed25519 key"},
		{"public", pub, "is public (PUBLIC KEY); want the private key"},
		{"encrypted PKCS#8", block("ENCRYPTED PRIVATE KEY", []byte{1, 2, 3}, nil), "is encrypted with a passphrase"},
		{"encrypted PKCS#1", strings.Replace(rsaKey, "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1), "is encrypted with a passphrase"},
		{"OpenSSH", block("OPENSSH PRIVATE KEY", []byte{1}, nil), "is an OpenSSH key"},
		{"damaged", block("RSA PRIVATE KEY", []byte{1, 2}, nil), "is no RSA private key, or a damaged one"},
		{"no PEM", "hello", "is no PEM block"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := config.Load(config.Sources{Env: env(map[string]string{"GITHUB_APP_INTEGRATION_ID": "42", "GITHUB_APP_WEBHOOK_SECRET": secret, "GITHUB_APP_PRIVATE_KEY": tc.key})})
			if err == nil || !strings.Contains(err.Error(), "GITHUB_APP_PRIVATE_KEY (environment): "+tc.want) || !strings.Contains(err.Error(), "the .pem file that GitHub offers") {
				t.Errorf("got %v, want %q and what would be right", err, tc.want)
			}
		})
	}
}

// The two addresses of GitHub are sent the same tokens; so is neither, in clear.
func TestGitHubAddressesAgree(t *testing.T) {
	for _, tc := range []struct{ v3, v4, ops, want string }{
		{"https://ghe.example/api/v3", "http://ghe.example/api/graphql", "", "GITHUB_V4_API_URL (environment): is http while GITHUB_V3_API_URL is https"},
		{"http://ghe.example/api/v3", "https://ghe.example/api/graphql", "", "GITHUB_V4_API_URL (environment): is https while GITHUB_V3_API_URL is http"},
		{"http://ghe.example/api/v3", "http://ghe.example/api/graphql", "", ""},
		{"https://ghe.example/api/v3", "https://ghe.example/api/graphql", ":9464", ""},
		{"https://ghe.example/api/v3", "https://ghe.example/api/graphql", ":8080", "COUNTERSIGN_OPS_ADDR (environment): is LISTEN_ADDR"},
		{"https://ghe.example/api/v3", "https://ghe.example/api/graphql", "9464", "COUNTERSIGN_OPS_ADDR (environment): want host:port"},
	} {
		s, err := config.Load(config.Sources{Env: env(map[string]string{"GITHUB_APP_INTEGRATION_ID": "42", "GITHUB_APP_WEBHOOK_SECRET": secret,
			"GITHUB_APP_PRIVATE_KEY": testKey(t), "GITHUB_V3_API_URL": tc.v3, "GITHUB_V4_API_URL": tc.v4, "COUNTERSIGN_OPS_ADDR": tc.ops})})
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%+v: %v", tc, err)
		case tc.want == "" && s.OpsAddr != tc.ops:
			t.Errorf("ops address %q, want %q", s.OpsAddr, tc.ops)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%+v: got %v", tc, err)
		}
	}
}
