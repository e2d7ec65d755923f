package config

import (
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
		return errors.New("is no PEM block; want the .pem file that GitHub offers on the App's settings page")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		var ok bool
		if key, ok = parsed.(*rsa.PrivateKey); !ok {
			return errors.New("is no RSA private key; want the .pem file that GitHub offers on the App's settings page")
		}
	}
	if key.N.BitLen() < minKeyBits {
		return fmt.Errorf("is an RSA key of %d bits; GitHub's have %d: want the .pem file that it offers on the App's settings page", key.N.BitLen(), minKeyBits)
	}
	s.PrivateKey = []byte(v)
	return nil
}
