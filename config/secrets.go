package config

import (
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
	if len(v) < minSecret {
		return fmt.Errorf("is %d characters long; want at least %d random ones (openssl rand -hex 32)", len(v), minSecret)
	}
	s.WebhookSecrets = append(s.WebhookSecrets, []byte(v))
	return nil
}

// setPrivateKey checks the key now, so that a wrong one stops the start instead
// of every later call. GitHub hands out PKCS#1; PKCS#8 works as well.
func setPrivateKey(s *Settings, v string) error {
	// A key in an environment variable often has its line ends written as \n.
	if !strings.Contains(v, "\n") {
		v = strings.ReplaceAll(v, `\n`, "\n")
	}
	block, _ := pem.Decode([]byte(v))
	if block == nil {
		return errors.New("is no PEM block; want the .pem file that GitHub offers on the App's settings page")
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
		if _, err := x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
			return errors.New("is no RSA private key; want the .pem file that GitHub offers on the App's settings page")
		}
	}
	s.PrivateKey = []byte(v)
	return nil
}
