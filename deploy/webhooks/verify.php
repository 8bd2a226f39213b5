<?php
declare(strict_types=1);

// verify says whether a message was signed with the key and just now. The key is
// a shared secret, whsec_…, or a public key, whpk_….
function verify(string $key, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $raw = base64_decode(substr($key, strpos($key, '_') + 1), true);
    $content = "$id.$timestamp.$body";
    foreach (explode(' ', $signatures) as $one) {
        [$scheme, $encoded] = explode(',', $one, 2) + ['', ''];
        $signature = base64_decode($encoded, true);
        if ($signature === false || $raw === false) {
            continue;
        }
        if ($scheme === 'v1' && str_starts_with($key, 'whsec_')
            && hash_equals(hash_hmac('sha256', $content, $raw, true), $signature)) {
            return true;
        }
        if ($scheme === 'v1a' && str_starts_with($key, 'whpk_') && strlen($signature) === SODIUM_CRYPTO_SIGN_BYTES
            && strlen($raw) === SODIUM_CRYPTO_SIGN_PUBLICKEYBYTES && sodium_crypto_sign_verify_detached($signature, $content, $raw)) {
            return true;
        }
    }
    return false;
}

if (PHP_SAPI === 'cli' && isset($argv) && count($argv) === 5) {
    $good = verify($argv[1], $argv[2], $argv[3], $argv[4], stream_get_contents(STDIN));
    echo $good ? "good\n" : "bad\n";
    exit($good ? 0 : 1);
}
