package config

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// minSecret is the shortest webhook secret taken: GitHub asks for a random
// string of high entropy, and anything shorter can be guessed offline from one
// recorded delivery.
const minSecret = 16

func addSecret(s *Settings, v string) error {
	if n := len(strings.TrimSpace(v)); n < minSecret {
		return fmt.Errorf("is %d characters long; want at least %d random ones (openssl rand -hex 32)", n, minSecret)
	}
	s.WebhookSecrets = append(s.WebhookSecrets, []byte(v))
	return nil
}

// minKeyBits is the size of the keys that GitHub makes.
const minKeyBits = 2048

// setPrivateKey checks the key now, so that a wrong one stops the start instead
// of every later call. GitHub hands out PKCS#1; PKCS#8 works as well.
func setPrivateKey(s *Settings, v string) error {
	// A key in an environment variable often has its line ends written as \n.
	if !strings.Contains(v, "\n") {
		v = strings.ReplaceAll(v, `\n`, "\n")
	}
	block, _ := pem.Decode([]byte(v))
	if block == nil {
		return errors.New("is no PEM block; " + wantPEM)
	}
	key, err := rsaKey(block)
	if err != nil {
		return err
	}
	if key.N.BitLen() < minKeyBits {
		return fmt.Errorf("is an RSA key of %d bits; GitHub's have %d; "+wantPEM, key.N.BitLen(), minKeyBits)
	}
	s.PrivateKey = []byte(v)
	return nil
}

const wantPEM = "want the .pem file that GitHub offers on the App's settings page"

// rsaKey reads the key, or says what stands in its place: whoever made a key of
// their own needs another hint than whoever encrypted GitHub's.
func rsaKey(block *pem.Block) (*rsa.PrivateKey, error) {
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY", strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return nil, errors.New("is encrypted with a passphrase, which nobody could enter at a start; " + wantPEM + ", as it is, and protect the file by its permissions or a secret store")
	case block.Type == "EC PRIVATE KEY":
		return nil, errors.New("is an EC key, and GitHub Apps sign with RSA; " + wantPEM)
	case strings.Contains(block.Type, "PUBLIC KEY"), block.Type == "CERTIFICATE":
		return nil, errors.New("is public (" + block.Type + "); want the private key: " + wantPEM)
	case block.Type == "OPENSSH PRIVATE KEY":
		return nil, errors.New("is an OpenSSH key; " + wantPEM)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is no RSA private key, or a damaged one; " + wantPEM)
	}
	switch key := parsed.(type) {
	case *rsa.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return nil, errors.New("is an EC key, and GitHub Apps sign with RSA; " + wantPEM)
	case ed25519.PrivateKey:
		return nil, errors.New("is an Ed25519 key, and GitHub Apps sign with RSA; " + wantPEM)
	}
	return nil, errors.New("is no RSA private key; " + wantPEM)
}
